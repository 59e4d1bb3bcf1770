#include "http/files/file_path.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/files.hpp>
#include <coracle/mime/media_type.hpp>

namespace coracle::http {
namespace {

response plain_answer(status code) {
    return {code, std::to_string(to_code(code)) + ' ' + std::string(reason_phrase(code)) + '\n'};
}

// Names that lead nowhere, lead out, or lead to what is no file are all the same to a client.
response answer_to(const error& e) {
    const auto code = e.code();
    if (code == std::errc::permission_denied) return plain_answer(status::forbidden);
    for (const auto nowhere :
         {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
          std::errc::too_many_symbolic_link_levels, std::errc::cross_device_link,
          std::errc::filename_too_long, std::errc::no_such_device_or_address,
          std::errc::no_such_device, std::errc::invalid_argument}) {
        if (code == nowhere) return plain_answer(status::not_found);
    }
    if (code == std::errc::too_many_files_open ||
        code == std::errc::too_many_files_open_in_system ||
        code == std::errc::resource_unavailable_try_again) {
        return plain_answer(status::service_unavailable).set("Retry-After", "1");
    }
    return plain_answer(status::internal_server_error);
}

// To the same path with a slash behind it. Relative, so that it holds behind a proxy that cuts a
// prefix; with "./" in front, so that no name looks like a scheme or a host.
response add_slash(const request& req, std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    std::string location = "./" + percent_encode(name) + '/';
    if (!req.query_text().empty()) {
        location += '?';
        location += req.query_text();
    }
    return redirect(location, status::moved_permanently);
}

class file_handler final : public handler::implementation {
public:
    file_handler(net::directory root, file_options options)
        : root_(std::move(root)), options_(std::move(options)) {}

    bool call(request& req, response& answer, task<response>&) const override {
        answer = respond(req);
        return true;
    }

private:
    response respond(const request& req) const {
        if (req.method() != method::get && req.method() != method::head) {
            return plain_answer(status::method_not_allowed).set("Allow", "GET, HEAD");
        }
        const std::string_view path = path_beneath(req);
        if (!detail::is_safe_file_path(path, options_.hidden)) {
            return plain_answer(status::not_found);
        }
        if (path.empty() || path.ends_with('/')) return respond_with_index(req, path);
        auto file = net::open_beneath(root_, path, options_.how);
        if (!file) return answer_to(file.error());
        if (file->status().kind == net::file_kind::directory) return add_slash(req, path);
        return file_response(req, *std::move(file), mime::media_type_of(path),
                             options_.cache_control);
    }

    response respond_with_index(const request& req, std::string_view path) const {
        if (options_.index.empty()) return plain_answer(status::not_found);
        auto file = net::open_beneath(root_, std::string(path) + options_.index, options_.how);
        if (!file) return answer_to(file.error());
        return file_response(req, *std::move(file), mime::media_type_of(options_.index),
                             options_.cache_control);
    }

    std::string_view path_beneath(const request& req) const noexcept {
        std::string_view path = req.param(options_.param);
        // A parameter that matched nothing is empty and points into the path; without a parameter
        // there is nothing to point to.
        if (path.data() != nullptr) return path;
        path = req.path();
        if (path.starts_with('/')) path.remove_prefix(1);
        return path;
    }

    net::directory root_;
    file_options options_;
};

}  // namespace

handler serve_files(const std::string& root, file_options options) {
    auto opened = net::directory::open(root);
    if (!opened) throw_exception(std::move(opened).error());
    return handler(std::make_shared<file_handler>(*std::move(opened), std::move(options)));
}

}  // namespace coracle::http
