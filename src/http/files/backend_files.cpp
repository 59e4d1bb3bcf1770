#include "http/files/backend_files.hpp"

#include "http/files/file_responses.hpp"
#include "http/files/listing.hpp"
#include "http/files/representation.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/runtime/loop.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace coracle::http::detail {
namespace {

/// A file that was read, or a directory.
struct content {
    file_status status;
    std::shared_ptr<const std::string> bytes;  ///< null: a directory
    std::string name;                          ///< below the root
    bool fell_back = false;
    bool is_listing = false;
    content_coding coding = content_coding::identity;
};
using result = std::expected<content, error>;

/// Follows the links in a name below the root as the system does where it serves (RESOLVE_BENEATH):
/// none of them may be absolute, or lead out of it. Returns the path.
task<std::expected<std::string, error>> resolve_beneath(const std::string& root, std::string rest) {
    constexpr unsigned most_links = 40;
    const error outside(std::errc::no_such_file_or_directory, "open");
    const error no_directory(std::errc::not_a_directory, "open");
    std::vector<std::string> above;  ///< the path of each directory that leads there
    std::string path = root;
    for (unsigned links = 0; !rest.empty();) {
        const std::string segment = rest.substr(0, rest.find('/'));
        const bool has_slash = segment.size() != rest.size();
        rest.erase(0, segment.size() + 1);
        if (segment.empty() || segment == ".") continue;
        if (segment == "..") {
            if (above.empty()) co_return std::unexpected(outside);
            path = std::move(above.back());
            above.pop_back();
            continue;
        }
        std::string next = path;
        next.append(1, '/').append(segment);
        auto asking = fs::link_status(next);
        auto status = co_await as_result(asking);
        if (!status) co_return std::unexpected(std::move(status).error());
        if (status->kind != file_kind::symlink) {
            if (has_slash && status->kind != file_kind::directory) {
                co_return std::unexpected(no_directory);
            }
            above.push_back(std::exchange(path, std::move(next)));
            continue;
        }
        auto reading = fs::read_link(next);
        auto target = co_await as_result(reading);
        if (!target) co_return std::unexpected(std::move(target).error());
        if (target->starts_with('/') || ++links > most_links) co_return std::unexpected(outside);
        if (has_slash) target->append(1, '/');
        rest.insert(0, *target);
    }
    co_return path;
}

task<result> read(const std::string& root, std::string name) {
    auto resolving = resolve_beneath(root, name);
    auto path = co_await std::move(resolving);
    if (!path) co_return std::unexpected(std::move(path).error());
    auto opening = fs::open(*std::move(path));
    auto file = co_await as_result(opening);
    if (!file) co_return std::unexpected(std::move(file).error());
    auto asking = file->status();
    auto status = co_await as_result(asking);
    if (!status) co_return std::unexpected(std::move(status).error());
    content c{*status, nullptr, std::move(name)};
    if (status->kind == file_kind::directory) co_return c;
    if (status->kind != file_kind::regular) {
        co_return std::unexpected(error(std::errc::no_such_device_or_address, "open"));
    }
    std::string bytes(static_cast<std::size_t>(status->size), '\0');
    auto reading = file->read_exactly_at(0, bytes);
    auto done = co_await as_result(reading);
    if (!done) co_return std::unexpected(std::move(done).error());
    c.bytes = std::make_shared<const std::string>(std::move(bytes));
    co_return c;
}

task<result> find_in_directory(const std::string& root, const file_options& options,
                               std::string_view path) {
    const error nothing(std::errc::no_such_file_or_directory, "open");
    result index = std::unexpected(nothing);
    if (!options.index.empty()) {
        index = co_await read(root, std::string(path) + options.index);
        if (index && index->bytes == nullptr) index = std::unexpected(nothing);
    }
    if (index || !options.listing || !leads_nowhere(index.error())) co_return index;
    result directory = co_await read(root, std::string(path));
    if (directory) directory->is_listing = true;
    co_return directory;
}

task<result> find(const std::string& root, const file_options& options, const file_query& q) {
    const bool is_directory = q.path.empty() || q.path.ends_with('/');
    result found;
    if (is_directory)
        found = co_await find_in_directory(root, options, q.path);
    else
        found = co_await read(root, std::string(q.path));
    if (found || !q.may_fall_back || !leads_nowhere(found.error())) co_return found;
    const std::string_view last = q.path.substr(q.path.rfind('/') + 1);
    if (last.find('.') != std::string_view::npos) co_return found;
    found = co_await read(root, options.fallback);
    if (found) found->fell_back = true;
    co_return found;
}

// Returns the precompressed sibling of a file, if the client accepts one, else the file.
task<content> with_sibling(const std::string& root, const file_options& options,
                           const file_query& q, content found) {
    if (!options.precompressed || !has_variants(options, media_type_for(options, found.name))) {
        co_return found;
    }
    for (const content_coding c : q.codings.list()) {
        auto sibling = co_await read(root, found.name + std::string(extension_of(c)));
        if (!sibling || !is_fresh_sibling(sibling->status, found.status)) continue;
        found.bytes = std::move(sibling->bytes);
        found.status = sibling->status;
        found.coding = c;
        break;
    }
    co_return found;
}

// Reads the status of an entry, through links that stay below the root.
task<std::expected<file_status, error>> status_of_entry(const std::string& root, std::string name) {
    auto looking = fs::link_status(root + '/' + name);
    auto status = co_await as_result(looking);
    if (!status || status->kind != file_kind::symlink) co_return status;
    auto resolving = resolve_beneath(root, std::move(name));
    const auto target = co_await std::move(resolving);
    if (!target) co_return std::unexpected(target.error());
    auto following = fs::status(*target);
    co_return co_await as_result(following);
}

// Reads entries as `fs::read_directory` does.
task<std::expected<fs::directory_entries, error>> read_entries(const std::string& root,
                                                               std::string_view path,
                                                               const file_options& options) {
    fs::directory_entries all;
    auto names = fs::list(root + '/' + std::string(path));
    for (;;) {
        auto asking = names.next();
        auto e = co_await as_result(asking);
        if (!e) co_return std::unexpected(std::move(e).error());
        if (!*e) co_return all;
        const std::string name((**e).name());
        if (!options.hidden && name.starts_with('.')) continue;
        auto looking = status_of_entry(root, std::string(path) + name);
        const auto status = co_await std::move(looking);
        if (!status) continue;
        const bool directory = status->kind == file_kind::directory;
        if (!directory && status->kind != file_kind::regular) continue;
        if (all.list.size() == options.listing_entries) {
            all.truncated = true;
            co_return all;
        }
        all.list.push_back({name, status->kind, directory ? 0 : status->size, status->modified_ns});
    }
}

task<response> list(const std::string& root, const file_options& options, const request& req,
                    const file_query& q) {
    if (!req.path().ends_with('/')) co_return add_slash(req, req.path());
    auto entries = co_await read_entries(root, q.path, options);
    if (!entries) co_return file_error_response(req, entries.error());
    const bool json = prefers_json(req.fields());
    co_return listing_response(show_listing(req, q.path, *std::move(entries), options, json), json);
}

}  // namespace

bool has_own_files() noexcept {
    loop* const here = loop::current();
    return here != nullptr && !here->backend().is_of_the_system();
}

task<response> respond_from_backend(const std::string& root, const file_options& options,
                                    const request& req, file_query q) {
    result found = co_await find(root, options, q);
    if (!found) co_return lookup_error_response(req, options, found.error());
    if (found->is_listing) co_return co_await list(root, options, req, q);
    if (found->bytes == nullptr) co_return add_slash(req, q.path);
    const content c = co_await with_sibling(root, options, q, *std::move(found));
    representation r;
    r.file = fs::plain_file(-1, c.status);
    r.bytes = c.bytes;
    r.media_type = media_type_for(options, c.name);
    r.cache_control = cache_control_for(options, c.name);
    r.varies = has_variants(options, r.media_type);
    r.varies_by_type = c.fell_back;
    if (c.coding != content_coding::identity) r.coding = to_string(c.coding);
    r.nosniff = options.nosniff;
    co_return *respond(req, r, disk::wait);
}

}  // namespace coracle::http::detail
