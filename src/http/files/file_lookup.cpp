#include "http/files/file_lookup.hpp"

#include "http/coding/compressible.hpp"
#include "http/files/glob.hpp"
#include "http/files/modified_time.hpp"
#include "http/message/token.hpp"

#include <coracle/mime/media_type.hpp>

namespace coracle::http::detail {
namespace {

bool is_cold(const error& e) noexcept {
    return e.code() == std::errc::resource_unavailable_try_again;
}

std::int64_t seconds_of(const file_status& s) noexcept {
    return second_of(s.modified_ns);
}

/// The steps of one search; each opens what it tries.
class search {
public:
    search(const fs::directory& root, const file_options& options, const file_query& q,
           fs::lookup where) noexcept
        : root_(&root), options_(&options), query_(&q), where_(where) {}

    std::expected<found_file, error> run() {
        auto found = is_directory_path() ? find_in_directory() : find_by_name();
        if (!found && leads_nowhere(found.error()) && may_fall_back()) {
            found = open_file(options_->fallback);
            if (found) found->fell_back = true;
        }
        if (!found || found->what != found_file::kind::file) return found;
        return with_sibling(*std::move(found));
    }

private:
    bool is_directory_path() const noexcept {
        return query_->path.empty() || query_->path.ends_with('/');
    }

    std::expected<fs::plain_file, error> open(std::string_view path) const {
        return fs::open_beneath(*root_, path, options_->how, where_);
    }

    std::expected<found_file, error> open_file(std::string name) const {
        auto file = open(name);
        if (!file) return std::unexpected(std::move(file).error());
        found_file found;
        const bool regular = file->status().kind == file_kind::regular;
        found.what = regular ? found_file::kind::file : found_file::kind::slash_missing;
        found.file = *std::move(file);
        found.name = std::move(name);
        return found;
    }

    std::expected<found_file, error> find_by_name() const {
        return open_file(std::string(query_->path));
    }

    std::expected<found_file, error> find_in_directory() const {
        const error nothing(std::errc::no_such_file_or_directory, "open");
        std::expected<found_file, error> index = std::unexpected(nothing);
        if (!options_->index.empty()) {
            index = open_file(std::string(query_->path) + options_->index);
            if (index && index->what != found_file::kind::file) index = std::unexpected(nothing);
        }
        if (index || !options_->listing || !leads_nowhere(index.error())) return index;
        auto directory = open_file(std::string(query_->path));
        if (!directory) return directory;
        directory->what = found_file::kind::listing;
        return directory;
    }

    bool may_fall_back() const noexcept {
        const std::string_view path = query_->path;
        const std::string_view last = path.substr(path.rfind('/') + 1);
        return query_->may_fall_back && !options_->fallback.empty() &&
               last.find('.') == std::string_view::npos;
    }

    std::expected<found_file, error> with_sibling(found_file found) const {
        if (!options_->precompressed || query_->codings.empty() ||
            !has_variants(*options_, media_type_for(*options_, found.name))) {
            return found;
        }
        for (const content_coding c : query_->codings.list()) {
            auto sibling = open(found.name + std::string(extension_of(c)));
            if (!sibling) {
                if (where_ == fs::lookup::cached && is_cold(sibling.error())) {
                    return std::unexpected(std::move(sibling).error());
                }
                continue;
            }
            if (!is_fresh_sibling(sibling->status(), found.file.status())) continue;
            found.file = *std::move(sibling);
            found.coding = c;
            break;
        }
        return found;
    }

    const fs::directory* root_;
    const file_options* options_;
    const file_query* query_;
    fs::lookup where_;
};

}  // namespace

std::expected<found_file, error> find_file(const fs::directory& root, const file_options& options,
                                           const file_query& q, fs::lookup where) {
    return search(root, options, q, where).run();
}

std::string_view extension_of(content_coding c) noexcept {
    switch (c) {
        case content_coding::brotli: return ".br";
        case content_coding::zstd: return ".zst";
        default: return ".gz";
    }
}

bool is_fresh_sibling(const file_status& sibling, const file_status& file) noexcept {
    return sibling.kind == file_kind::regular && seconds_of(sibling) >= seconds_of(file);
}

bool leads_nowhere(const error& e) noexcept {
    for (const auto nowhere :
         {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
          std::errc::too_many_symbolic_link_levels, std::errc::cross_device_link,
          std::errc::filename_too_long, std::errc::no_such_device_or_address,
          std::errc::no_such_device, std::errc::invalid_argument}) {
        if (e.code() == nowhere) return true;
    }
    return false;
}

std::string_view media_type_for(const file_options& options, std::string_view name) noexcept {
    const std::string_view last = name.substr(name.rfind('/') + 1);
    const std::size_t dot = last.rfind('.');
    if (dot != std::string_view::npos && dot != 0) {
        for (const media_type_rule& rule : options.media_types) {
            if (equal_ignoring_case(rule.extension, last.substr(dot + 1))) return rule.media_type;
        }
    }
    return mime::media_type_of(name);
}

std::string_view cache_control_for(const file_options& options, std::string_view path) {
    for (const cache_rule& rule : options.cache) {
        if (path_matches_glob(rule.glob, path)) return rule.cache_control;
    }
    return options.cache_control;
}

bool has_variants(const file_options& options, std::string_view media_type) noexcept {
    return (options.precompressed || options.compress) && is_compressible(media_type);
}

}  // namespace coracle::http::detail
