#include "coding/encoder.hpp"
#include "http/coding/compressible.hpp"
#include "http/error_style.hpp"
#include "http/files/backend_files.hpp"
#include "http/files/compressed_cache.hpp"
#include "http/files/file_lookup.hpp"
#include "http/files/file_path.hpp"
#include "http/files/file_responses.hpp"
#include "http/files/listing.hpp"
#include "http/files/representation.hpp"
#include "http/message/token.hpp"
#include "runtime/end_if_cancelled.hpp"

#include <coracle/http/files.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/offload.hpp>

#include <atomic>
#include <optional>

namespace coracle::http {
namespace {

using detail::add_slash;
using detail::disk;
using detail::error_response;
using detail::file_error_response;
using detail::found_file;
using detail::representation;

/// Finds out if the kernel can look up names below a root in memory alone. Not every file system
/// can: on others, trying first would fail each time.
class cached_lookups {
public:
    bool worth_trying() const noexcept { return use_.load(std::memory_order_relaxed) != use::no; }

    /// `path` has just been opened: it is in memory if anything is.
    void learn(const fs::directory& root, std::string_view path, fs::beneath_method how) noexcept {
        if (use_.load(std::memory_order_relaxed) != use::unknown) return;
        const auto again = fs::open_beneath(root, path, how, fs::lookup::cached);
        if (again) {
            use_.store(use::yes, std::memory_order_relaxed);
        } else if (again.error() == std::errc::resource_unavailable_try_again &&
                   failures_.fetch_add(1, std::memory_order_relaxed) + 1 == most_failures) {
            use_.store(use::no, std::memory_order_relaxed);
        }
    }

private:
    /// A rename elsewhere may disturb a lookup, and all other errors say nothing of the file
    /// system.
    static constexpr unsigned most_failures = 8;
    enum class use : std::uint8_t { unknown, yes, no };
    std::atomic<use> use_{use::unknown};
    std::atomic<unsigned> failures_{0};
};

class file_handler final : public handler::implementation {
public:
    /// Takes the directory; without `root`, serves in simulations only.
    file_handler(std::string path, std::optional<fs::directory> root, file_options options)
        : path_(std::move(path)), root_(std::move(root)), options_(std::move(options)),
          cache_(options_.compress_cache) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (req.method() != method::get && req.method() != method::head) {
            out = error_response(req, status::method_not_allowed).set("Allow", "GET, HEAD");
            return true;
        }
        detail::file_query q;
        q.path = relative_path(req);
        if (!detail::is_safe_file_path(q.path, options_.hidden)) {
            out = error_response(req, status::not_found);
            return true;
        }
        if (options_.precompressed || options_.compress) {
            q.codings = detail::acceptable_codings(req.fields());
        }
        q.may_fall_back = !options_.fallback.empty() && detail::names_html(req.fields());
        if (detail::has_own_files()) {
            pending = detail::respond_from_backend(path_, options_, req, q);
            return false;
        }
        if (!root_) {
            out = error_response(req, status::not_found);
            return true;
        }
        return respond_now(req, q, out, pending);
    }

private:
    /// The findings about a request before its response can be made.
    struct step {
        std::expected<found_file, error> found;
        representation content;
    };

    // Responds without waiting, if possible.
    bool respond_now(const request& req, const detail::file_query& q, response& out,
                     task<response>& pending) const {
        const bool on_loop = loop::current() != nullptr;
        const bool cached = on_loop && cached_.worth_trying();
        step s{detail::find_file(*root_, options_, q,
                                 cached ? fs::lookup::cached : fs::lookup::complete),
               {}};
        if (cached && !s.found && is_cold(s.found.error())) {
            pending = look_up_and_respond(this, &req, q);
            return false;
        }
        if (auto done = finish(req, q, s, on_loop ? disk::do_not_wait : disk::wait)) {
            out = *std::move(done);
            return true;
        }
        if (!on_loop) {
            out = error_response(req, status::service_unavailable);
            return true;
        }
        pending = respond_later(this, &req, q, std::move(s));
        return false;
    }

    static bool is_cold(const error& e) noexcept {
        return e.code() == std::errc::resource_unavailable_try_again;
    }

    // Returns the response, unless it must wait: for a listing, for compression, or for the disk.
    std::optional<response> finish(const request& req, const detail::file_query& q, step& s,
                                   disk d) const {
        if (!s.found) return detail::lookup_error_response(req, options_, s.found.error());
        if (s.found->what == found_file::kind::slash_missing) return add_slash(req, q.path);
        if (s.found->what == found_file::kind::listing) {
            if (!req.path().ends_with('/')) return add_slash(req, req.path());
            return std::nullopt;
        }
        if (!s.content.file.open()) describe(s);
        if (const auto coding = coding_to_make(q, s)) {
            const auto ready = cache_.find({s.content.file.status(), *coding});
            if (!ready && loop::current() != nullptr) return std::nullopt;
            if (ready && *ready) use_compressed(s.content, *ready, *coding);
        }
        return detail::respond(req, s.content, d);
    }

    // The views are of the options and of static memory.
    void describe(step& s) const {
        representation& r = s.content;
        r.file = std::move(s.found->file);
        r.media_type = detail::media_type_for(options_, s.found->name);
        r.cache_control = detail::cache_control_for(options_, s.found->name);
        r.varies = detail::has_variants(options_, r.media_type);
        r.varies_by_type = s.found->fell_back;
        r.nosniff = options_.nosniff;
        if (s.found->coding != content_coding::identity) r.coding = to_string(s.found->coding);
    }

    // The coding that this file is to be compressed with, if any.
    std::optional<content_coding> coding_to_make(const detail::file_query& q,
                                                 const step& s) const noexcept {
        const representation& r = s.content;
        if (!options_.compress || q.codings.empty() || !r.coding.empty() || r.bytes ||
            !detail::is_compressible(r.media_type)) {
            return std::nullopt;
        }
        const std::uint64_t size = r.file.status().size;
        if (size == 0 || size < options_.compress_least || size > options_.compress_most)
            return std::nullopt;
        return q.codings.list().front();
    }

    static void use_compressed(representation& r, detail::compressed_cache::content bytes,
                               content_coding coding) {
        r.bytes = std::move(bytes);
        r.coding = to_string(coding);
        r.encoder = coracle::coding::encoder_version(coding);
    }

    static task<response> look_up_and_respond(const file_handler* self, const request* req,
                                              detail::file_query q) {
        const auto search = [self, &q] {
            return detail::find_file(*self->root_, self->options_, q, fs::lookup::complete);
        };
        auto searched = co_await as_result(coracle::detail::offload_file_work(search));
        if (!searched) co_await coracle::detail::end_if_cancelled(searched.error());
        if (!searched) co_return file_error_response(*req, searched.error());
        step s{*std::move(searched), {}};
        if (s.found) self->cached_.learn(*self->root_, s.found->name, self->options_.how);
        auto done = self->finish(*req, q, s, disk::do_not_wait);
        if (done) co_return *std::move(done);
        co_return co_await respond_later(self, req, q, std::move(s));
    }

    static task<response> respond_later(const file_handler* self, const request* req,
                                        detail::file_query q, step s) {
        if (s.found->what == found_file::kind::listing) co_return co_await list(self, req);
        if (const auto coding = self->coding_to_make(q, s)) {
            const detail::compressed_cache::key k{s.content.file.status(), *coding};
            auto made = co_await self->cache_.get(k, s.content.file);
            if (made) use_compressed(s.content, std::move(made), *coding);
        }
        auto out = detail::respond(*req, s.content, disk::do_not_wait);
        if (out) co_return *std::move(out);

        const auto warm = [&s] {
            std::string bytes(detail::small_file, '\0');
            // The content, and whether it can be read, shows when it is read again.
            static_cast<void>(s.content.file.read_at(s.content.cold_at, bytes));
        };
        const auto warmed = co_await as_result(coracle::detail::offload_file_work(warm));
        // If no thread can be started, the loop itself waits for the disk.
        if (!warmed) co_await coracle::detail::end_if_cancelled(warmed.error());
        out = detail::respond(*req, s.content, disk::wait);
        co_return *std::move(out);
    }

    static task<response> list(const file_handler* self, const request* req) {
        const bool json = detail::prefers_json(req->fields());
        const auto make = [self, req, json] { return self->make_listing(*req, json); };
        auto made = co_await as_result(coracle::detail::offload_file_work(make));
        if (!made) co_await coracle::detail::end_if_cancelled(made.error());
        if (!made) co_return file_error_response(*req, made.error());
        if (!*made) co_return file_error_response(*req, made->error());
        co_return detail::listing_response(**std::move(made), json);
    }

    // On a thread for blocking work.
    std::expected<std::string, error> make_listing(const request& req, bool json) const {
        const std::string_view path = relative_path(req);
        auto entries = fs::read_directory(*root_, path, options_.listing_entries, options_.hidden,
                                          options_.how);
        if (!entries) return std::unexpected(std::move(entries).error());
        return detail::show_listing(req, path, *std::move(entries), options_, json);
    }

    std::string_view relative_path(const request& req) const noexcept {
        std::string_view path = req.param(options_.param);
        // A parameter that matched nothing is empty and points into the path; without a parameter
        // there is nothing to point to.
        if (path.data() != nullptr) return path;
        path = req.path();
        if (path.starts_with('/')) path.remove_prefix(1);
        return path;
    }

    std::string path_;
    std::optional<fs::directory> root_;
    file_options options_;
    mutable detail::compressed_cache cache_;
    mutable cached_lookups cached_;
};

void check(const file_options& o) {
    const auto refuse = [](const std::string& value) {
        if (is_field_value(value)) return;
        throw_exception(error(std::errc::invalid_argument, "file_options").on("Cache-Control"));
    };
    refuse(o.cache_control);
    for (const cache_rule& r : o.cache) refuse(r.cache_control);
}

}  // namespace

handler serve_files(const std::string& root, file_options options) {
    check(options);
    if (detail::has_own_files()) {
        return handler(std::make_shared<file_handler>(root, std::nullopt, std::move(options)));
    }
    auto opened = fs::directory::open(root);
    if (!opened) throw_exception(std::move(opened).error());
    return handler(std::make_shared<file_handler>(root, *std::move(opened), std::move(options)));
}

}  // namespace coracle::http
