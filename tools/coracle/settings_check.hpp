#pragma once

namespace coracle::tool {

struct serve_settings;

/// Throws `failure` for a file that the settings name and that will not do, as far as that shows
/// without serving. Makes and changes none.
void check_files(const serve_settings& settings);

/// Throws `failure` where no socket can be made at the path of --handover.
void check_handover(const serve_settings& settings);

}  // namespace coracle::tool
