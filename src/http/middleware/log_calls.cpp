#include "http/masking.hpp"
#include "http/milliseconds.hpp"

#include <coracle/http/log_calls.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/http/response_info.hpp>
#include <coracle/runtime/loop.hpp>

#include <string>

namespace coracle::http {
namespace {

void append_fields(std::string& text, std::string_view mark, const fields& all) {
    for (const field& f : all) {
        text.append(mark).append(f.name).append(": ");
        text += detail::masked_field(f);
    }
}

void append_time(std::string& text, duration d) {
    text += ", ";
    detail::append_milliseconds(text, d);
    text += " ms";
}

/// The line that is logged for one request.
class call_line {
public:
    call_line(const log_calls_options& o, const request& req)
        : options_(o), here_(*loop::current()), began_(here_.now()),
          text_(std::string(req.method_text()) + ' ' + detail::masked_url(req.target())) {
        if (o.fields) append_fields(fields_, " > ", req.fields());
    }

    void ended(const response& r) {
        text_ += ' ' + std::to_string(static_cast<unsigned>(r.status()));
        append_time(text_, here_.now() - began_);
        if (const response_info* const info = r.info()) {
            if (info->attempts > 1) text_ += ", attempt " + std::to_string(info->attempts);
            if (info->redirects != 0) text_ += ", redirects " + std::to_string(info->redirects);
        }
        if (options_.fields) append_fields(fields_, " < ", r.fields());
        write();
    }
    /// The subject of an error has the URL once more, unmasked.
    void failed(const error& e) {
        text_.append(" failed: ").append(e.code().message());
        append_time(text_, here_.now() - began_);
        if (e.phase() != phase::none) text_.append(", phase ").append(to_string(e.phase()));
        if (e.attempt() > 1) text_ += ", attempt " + std::to_string(e.attempt());
        write();
    }

private:
    void write() const { here_.log().write(log_layer::http, options_.level, text_ + fields_); }

    const log_calls_options& options_;
    loop& here_;
    time_point began_;
    std::string text_;
    std::string fields_;
};

}  // namespace

task<response> log_calls::operator()(request& req, const handler& next) const {
    call_line line(options_, req);
    try {
        auto asking = next(req);
        response out = co_await std::move(asking);
        line.ended(out);
        co_return out;
    } catch (const exception& e) {
        line.failed(e.error());
        throw;
    } catch (...) {
        line.failed(error(std::errc::state_not_recoverable));
        throw;
    }
}

}  // namespace coracle::http
