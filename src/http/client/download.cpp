#include "fs/part_file.hpp"
#include "runtime/backoff.hpp"

#include <coracle/http/content_range.hpp>
#include <coracle/http/download.hpp>
#include <coracle/http/response_info.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <utility>

namespace coracle::http {
namespace {

using nothing = std::expected<void, error>;

/// The bytes of one write.
constexpr std::size_t gathered = 256 * 1024;

/// The longest pause before another attempt.
constexpr duration longest_delay = std::chrono::seconds(30);

/// With so many bytes more the count of attempts begins anew: enough that a server which gives one
/// byte at a time comes to an end.
constexpr std::uint64_t progress_size = 1024 * 1024;

/// Returns true if another attempt may succeed: the network failed.
bool may_pass(const error& e) noexcept {
    return e.phase() != phase::none && e != std::errc::operation_canceled &&
           e != errc::limit_exceeded && e != errc::shutting_down;
}

class downloading {
public:
    downloading(client& from, std::string url, const std::string& path, download_options options)
        : client_(&from), url_(std::move(url)), options_(std::move(options)),
          origin_(mark_of(url_)), part_(path) {}

    task<std::expected<downloaded, error>> run() {
        auto opened = co_await part_.open(options_.resume);
        if (!opened) co_return std::unexpected(std::move(opened).error());
        earlier_ = resumed();
        duration delay{};  // zero: there was none
        for (unsigned tries = 0;; ++tries) {
            const std::uint64_t had = part_.size();
            auto asked = co_await ask();
            if (asked) break;
            if (part_.size() >= had + progress_size) {
                tries = 0;
                delay = {};
            }
            if (tries == options_.retries || !goes_on_ || !may_pass(asked.error())) {
                co_return std::unexpected(std::move(asked).error());
            }
            delay = coracle::detail::next_delay(delay, options_.delay,
                                                std::max(options_.delay, longest_delay));
            auto waiting = sleep_for(delay);
            auto waited = co_await as_result(waiting);
            if (!waited) co_return std::unexpected(std::move(waited).error());
        }
        if (result_.ok()) {
            auto completed = co_await part_.complete(options_.durable);
            if (!completed) co_return std::unexpected(std::move(completed).error());
            result_.size = part_.size();
            result_.received = part_.size() - earlier_;
        }
        co_return result_;
    }

private:
    /// Names a URL in what is kept with the part, without its secrets.
    static std::string mark_of(std::string_view url) {
        return tls::to_hex(tls::digest(tls::hash::sha256, url)).substr(0, 32) + ' ';
    }
    /// The validator of the part; empty where it has none of this URL.
    std::string_view validator() const noexcept {
        const std::string_view kept = part_.validator();
        return kept.starts_with(origin_) ? kept.substr(origin_.size()) : std::string_view();
    }

    /// The bytes that need not be sent again. A part of another URL is none of this one, and stays
    /// until this one has something in its place.
    std::uint64_t resumed() const noexcept { return validator().empty() ? 0 : part_.size(); }

    call make_call() {
        call c = client_->get(url_);
        // A coding that the server applies all the same stays: a checksum of the file is of that.
        client_options o = client_->defaults();
        o.accept_compression = false;
        c.options(std::move(o));
        if (options_.prepare) options_.prepare(c);
        c.header("Accept-Encoding", "identity");
        if (resumed() != 0) {
            c.header("Range", "bytes=" + std::to_string(resumed()) + '-');
            c.header("If-Range", validator());
        }
        return c;
    }

    /// Makes one request and saves its response.
    task<nothing> ask() {
        call c = make_call();
        ++result_.requests;
        auto r = co_await as_result(c);
        if (!r) co_return std::unexpected(std::move(r).error());
        result_.status = r->status();
        const auto range = parse_content_range(r->fields().get("Content-Range"));
        const std::uint64_t had = resumed();
        const bool for_rest = had != 0;
        bool is_part = false;
        if (r->status() == status::partial_content ||
            (for_rest && r->status() == status::range_not_satisfiable)) {
            // The file is complete already. Few servers send a validator here.
            const bool is_end = range && !range->first && range->whole == had;
            const bool over = is_end && total_.value_or(had) == had;
            if (over) {
                result_.status = status::ok;
                co_return nothing();
            }
            const bool coded = r->fields().contains("Content-Encoding");
            const bool fits =
                range && range->first == had && for_rest && !coded && is_part_of(*r, validator());
            if (!fits && !for_rest) co_return broken(errc::protocol_error, *r);
            if (!fits) {
                *r = response();
                co_return co_await begin_again();
            }
            if (range->whole) total_ = range->whole;
            is_part = true;
        } else if (r->ok()) {
            std::string kept(if_range_validator(*r));
            if (!kept.empty()) kept.insert(0, origin_);
            auto begun = co_await part_.start_anew(std::move(kept));
            if (!begun) co_return begun;
            earlier_ = 0;
            total_ = r->length();
        } else {
            co_return nothing();
        }
        goes_on_ = !validator().empty();
        auto received = co_await receive(*r);
        // After a partial response of unknown total size only a 416 shows that there is no more.
        const bool over = total_ ? *total_ == part_.size() : !is_part;
        if (!received || over) co_return received;
        co_return broken(errc::unexpected_end, *r);
    }

    static nothing broken(errc why, const response& r) {
        error e(why, "download", phase::receive);
        if (r.info() != nullptr) e.on(r.info()->url.redacted());
        return std::unexpected(std::move(e));
    }

    /// Starts over after a part that does not continue the file, or may be of another version.
    task<nothing> begin_again() {
        goes_on_ = true;
        total_.reset();
        earlier_ = 0;
        auto begun = co_await part_.start_anew({});
        if (!begun) co_return begun;
        co_return co_await ask();
    }

    task<nothing> receive(response& r) {
        std::string pieces;
        for (;;) {
            auto reading = r.read();
            auto piece = co_await as_result(reading);
            const bool last = !piece || piece->empty();
            if (!last) pieces += *piece;
            if (last || pieces.size() >= gathered) {
                auto written = co_await part_.write(pieces);
                if (!written) co_return written;
                pieces.clear();
                if (options_.progress) options_.progress(part_.size(), total_);
            }
            if (!piece) co_return std::unexpected(std::move(piece).error());
            if (last) co_return nothing();
        }
    }

    client* client_;
    std::string url_;
    download_options options_;
    std::string origin_;  ///< before the validator that is kept with the part
    fs::detail::part_file part_;
    downloaded result_;
    std::optional<std::uint64_t> total_;
    std::uint64_t earlier_ = 0;
    bool goes_on_ = false;  ///< the next request may resume
};

task<std::expected<downloaded, error>> run_download(client* from, std::string url, std::string path,
                                                    download_options options) {
    downloading work(*from, std::move(url), path, std::move(options));
    co_return co_await work.run();
}

}  // namespace

operation<downloaded> download(client& from, std::string url, std::string path,
                               download_options options) {
    return run_download(&from, std::move(url), std::move(path), std::move(options));
}

}  // namespace coracle::http
