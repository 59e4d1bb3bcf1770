#include "transfer.hpp"

#include "explanation.hpp"
#include "settings.hpp"

#include <coracle/http/content_range.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

namespace coracle::tool {
namespace {

std::string status_text(const http::response& r) {
    std::string text = std::to_string(static_cast<unsigned>(r.status()));
    const std::string_view reason = http::reason_phrase(r.status());
    return reason.empty() ? text : text + ' ' + std::string(reason);
}

}  // namespace

void complain(const get_settings& s, progress_display& display, const std::string& about) {
    if (s.silent && !s.show_error) return;
    display.say("coracle: " + printable(about) + '\n');
}

transfer::transfer(transfer_room& room, transfer_order order)
    : room_(room), order_(std::move(order)), out_(order_.output) {
    progress_.name = out_.is_stream() ? order_.shown : out_.path();
    const duration limit = room_.settings.client.total_timeout;
    if (limit > duration::zero()) ends_ = loop::current()->now() + limit;
}

int transfer::fail(int code, const std::string& why) {
    room_.complain(order_.shown + ": " + why);
    return code;
}

int transfer::fail(const error& e) {
    if (room_.interrupted) {
        const bool kept = !out_.is_stream() && out_.size() != 0 && !is_for_now_;
        if (kept) {
            room_.complain(out_.part() + " has " + size_text(static_cast<double>(out_.size())) +
                           ": --continue goes on with it");
        }
        return get_interrupted;
    }
    return fail(exit_code_of(e), room_.settings.client.verbose ? e.message() : explain(e));
}

/// Until the response begins, the progress is that of the upload.
void transfer::show_sending(http::call& c) {
    is_sending_ = true;
    c.on_progress([this](const http::progress& p) {
        if (!is_sending_) return true;
        progress_.there = std::max(progress_.there, p.sent);
        progress_.size = p.to_send;
        return true;
    });
}

void transfer::show_earlier_heads(http::call& c) {
    const auto show = [this](const http::response& r) { return show_earlier_head(r); };
    c.on_interim(show);
    c.on_earlier(show);
}

http::call transfer::make_call() {
    const bool uploads = !order_.upload.empty();
    http::call c = room_.client.request(room_.request.method(uploads), order_.url);
    room_.request.give_to(c, order_.upload);
    if (uploads) show_sending(c);
    if (ends_ != time_point::max()) {
        // The limit is one for all requests of the transfer.
        const duration least = std::chrono::milliseconds(1);
        c.timeout(std::max(ends_ - loop::current()->now(), least));
    }
    if (retries_ != 0) {
        // Those of all requests of the transfer are counted together.
        http::client_options o = room_.client.defaults();
        o.retry.retries -= std::min(o.retry.retries, retries_);
        c.options(std::move(o));
    }
    if (from_ != 0) {
        c.header("Range", "bytes=" + std::to_string(from_) + '-');
        c.header("Accept-Encoding", "identity");
        const std::string validator = out_.is_stream() ? std::string() : out_.validator();
        if (!validator.empty()) c.header("If-Range", validator);
    }
    return c;
}

/// Returns true if the file gets the content of a resource and nothing else.
bool transfer::gets_whole_files() const {
    return room_.request.is_plain_get() && order_.upload.empty() && !room_.request.has_range() &&
           !room_.settings.include_head;
}

/// Returns true if a request for the rest may bring the bytes that this response did not.
bool transfer::may_go_on(const error& e) const {
    return gets_whole_files() && !out_.is_stream() && !room_.interrupted &&
           e.phase() != phase::none && e != errc::limit_exceeded && e != errc::shutting_down;
}

/// Counts the bytes that are in the file already, also for its checksum.
void transfer::count_earlier() {
    progress_.set_there(from_);
    progress_.earlier = from_;
    if (order_.checksum.empty()) return;
    digest_.emplace();
    out_.read([this](std::string_view bytes) { digest_->add(bytes); });
}

/// Decides what to do with the response to a request for the rest.
transfer::next_step transfer::place_rest(const http::response& r, int& code) {
    const auto status = static_cast<unsigned>(r.status());
    const auto range =
        http::parse_content_range(r.fields().get("Content-Range")).value_or(http::content_range());
    const std::uint64_t there = from_;
    const std::string validator = out_.is_stream() ? std::string() : out_.validator();
    // Without a known version of the file, the user vouches that it is the same.
    const bool is_same = validator.empty() || http::is_part_of(r, validator);
    const bool fits = range.first == there && !r.fields().contains("Content-Encoding") && is_same;
    if (status == 206 && fits) {
        out_.cut(from_);
        if (validator.empty()) out_.keep_validator(http::if_range_validator(r));
        count_earlier();
        progress_.size = range.whole;
        return next_step::receive;
    }
    // A server need not say how large it is.
    const bool ends_here =
        range.whole ? *range.whole == there : room_.settings.resume && !room_.settings.resume_from;
    if (status == 416 && ends_here) {
        out_.cut(from_);
        count_earlier();
        return next_step::over;
    }
    // A file that this run began is begun anew.
    if (!room_.settings.resume && (status == 206 || status == 416)) return next_step::anew;
    if (status == 206 || status == 416 || status == 200) {
        code = fail(get_range_error, "the server does not go on at byte " + std::to_string(there) +
                                         ": it responded with " + status_text(r));
    } else {
        code = fail(get_http_error, "cannot go on: the server responded with " + status_text(r));
    }
    return next_step::failed;
}

/// Decides by its head where a response goes.
transfer::next_step transfer::place(const http::response& r, int& code) {
    const get_settings& s = room_.settings;
    if (s.fail && static_cast<unsigned>(r.status()) >= 400) {
        const bool ended = static_cast<unsigned>(r.status()) == 416 && from_ != 0;
        if (!ended) {
            code = fail(get_http_error, "the server responded with " + status_text(r));
            return next_step::failed;
        }
    }
    // The file is the one that the condition was about.
    const bool is_unchanged =
        r.status() == http::status::not_modified && !out_.is_stream() && from_ == 0;
    if (is_unchanged && !s.include_head && !s.head) return next_step::unchanged;
    // All of it will do where the file ends, but not from a byte that was named.
    const bool is_whole = r.status() == http::status::ok && !s.resume_from;
    if (from_ != 0 && !is_whole) return place_rest(r, code);
    out_.start_anew();
    is_for_now_ = !out_.is_stream() && !(gets_whole_files() && r.status() == http::status::ok);
    if (!is_for_now_) out_.keep_validator(http::if_range_validator(r));
    progress_.set_there(0);
    progress_.earlier = 0;
    progress_.size = r.length();
    if (!order_.checksum.empty()) digest_.emplace();
    return next_step::receive;
}

task<> transfer::store(std::string_view bytes) {
    const bool first = progress_.there == progress_.earlier;
    if (first && !order_.any_bytes && bytes.find('\0') != std::string_view::npos) {
        throw unwritable(
            "the response is no text: give it a file with -o FILE, or print it with -o -");
    }
    co_await out_.write(bytes);
    if (digest_) digest_->add(bytes);
    progress_.there += bytes.size();
}

void transfer::add_head(const http::response& r) {
    const auto* info = r.info();
    if (info != nullptr) heads_ += std::string(to_string(info->version)) + ' ';
    heads_ += status_text(r) + "\r\n";
    for (const http::field& f : r.fields()) {
        // A terminal would obey some of its bytes.
        const std::string value(f.value);
        heads_.append(f.name).append(": ").append(order_.any_bytes ? value : printable(value));
        heads_ += "\r\n";
    }
    heads_ += "\r\n";
}

/// Shows a head that is not the last one. Those of a file wait until it is opened.
task<> transfer::show_earlier_head(const http::response& r) {
    add_head(r);
    if (out_.is_stream()) co_await out_.write(std::exchange(heads_, {}));
}

void transfer::print_timing(const http::response_info& info) {
    const http::call_timings& t = info.times;
    const std::pair<const char*, duration> rows[] = {
        {"had its turn", t.queued},
        {"found the host", t.resolved},
        {"connected", t.connected},
        {"through the proxy", t.tunnelled},
        {"TLS", t.secured},
        {"request sent", t.sent},
        {"response began", t.first_byte},
        {"response ended", t.ended},
    };
    std::string text = printable(order_.shown) + '\n';
    duration before{};
    for (const auto& [name, at] : rows) {
        if (at == duration::zero()) continue;
        char line[96];
        const auto ms = [](duration d) {
            return std::chrono::duration<double, std::milli>(d).count();
        };
        std::snprintf(line, sizeof line, "  %-18s %10.3f ms  +%.3f\n", name, ms(at),
                      ms(at - before));
        text += line;
        before = at;
    }
    const auto count = [&text](const char* name, std::uint64_t n) {
        text += std::string("  ") + name + ' ' + std::to_string(n);
    };
    count("attempts", info.attempts);
    count("redirects", info.redirects);
    count("sent", info.bytes_sent);
    count("received", info.bytes_received);
    text += info.reused ? "  connection used again\n" : "\n";
    room_.display.say(text);
}

void transfer::say_done(const http::response& r) {
    if (room_.settings.silent || out_.is_stream()) return;
    const duration took = r.info() != nullptr ? r.info()->times.ended : duration::zero();
    const double seconds = std::chrono::duration<double>(took).count();
    const auto came = static_cast<double>(progress_.there - progress_.earlier);
    std::string line =
        printable(out_.path()) + "  " + size_text(static_cast<double>(progress_.there));
    if (progress_.earlier != 0) line += " (" + size_text(came) + " of them now)";
    char time[32];
    std::snprintf(time, sizeof time, " in %.1f s", seconds);
    line += time;
    if (seconds > 0) line += ", " + size_text(came / seconds) + "/s";
    if (!r.ok() && static_cast<unsigned>(r.status()) != 416) line += "; " + status_text(r);
    room_.display.say(line + '\n');
}

int transfer::say_unchanged(const http::response& r) {
    if (room_.settings.timing && r.info() != nullptr) print_timing(*r.info());
    if (!order_.checksum.empty()) {
        return fail(get_http_error,
                    "there is nothing to check: the server responded with " + status_text(r));
    }
    if (!room_.settings.silent) {
        room_.display.say(printable(out_.path()) + "  left alone; " + status_text(r) + '\n');
    }
    return get_ok;
}

int transfer::finish(const http::response& r) {
    if (room_.settings.timing && r.info() != nullptr) print_timing(*r.info());
    if (digest_) {
        const std::string is = digest_->finish();
        if (is != order_.checksum) {
            out_.discard();
            return fail(get_wrong_checksum, "the checksum is " + is + ", not " + order_.checksum);
        }
    }
    out_.complete();
    say_done(r);
    return get_ok;
}

task<int> transfer::receive(http::response& r) {
    for (;;) {
        auto reading = r.read();
        const auto piece = co_await as_result(reading);
        if (!piece) {
            goes_on_ = may_go_on(piece.error());
            co_return fail(piece.error());
        }
        if (piece->empty()) break;
        co_await store(*piece);
    }
    // A part may end before the whole does.
    if (progress_.earlier == 0 || !progress_.size || *progress_.size == progress_.there) {
        co_return get_ok;
    }
    const error early(errc::unexpected_end, "get", phase::receive);
    goes_on_ = may_go_on(early);
    co_return fail(early);
}

task<int> transfer::ask(bool resume, std::optional<std::uint64_t> from) {
    if (resume) out_.open_to_resume();
    from_ = resume ? from.value_or(out_.size()) : 0;
    if (!out_.is_stream() && from_ > out_.size()) {
        co_return fail(get_bad_resume, out_.path() + " has only " + std::to_string(out_.size()) +
                                           " bytes: --continue-at - goes on where it ends");
    }
    http::call c = make_call();
    const bool shows_heads = room_.settings.include_head || room_.settings.head;
    heads_.clear();
    if (shows_heads) show_earlier_heads(c);
    auto r = co_await as_result(c);
    if (!r) co_return fail(r.error());
    if (r->info() != nullptr) retries_ += r->info()->retries;
    int code = get_ok;
    is_sending_ = false;
    const next_step step = place(*r, code);
    if (step == next_step::failed) co_return code;
    if (step == next_step::unchanged) co_return say_unchanged(*r);
    if (step == next_step::anew) {
        out_.start_anew();
        *r = http::response();
        co_return co_await ask(false);
    }
    if (step == next_step::receive) {
        if (shows_heads && progress_.there == 0) {
            add_head(*r);
            co_await out_.write(std::exchange(heads_, {}));
        }
        code = co_await receive(*r);
        if (code != get_ok) co_return code;
    }
    co_await out_.open_fifo_if_never_written();
    co_return finish(*r);
}

/// The limit for all of it holds for the output too, which may have no reader.
task<int> transfer::ask_in_time(bool resume, std::optional<std::uint64_t> from) {
    auto asking = ask(resume, from);
    if (ends_ == time_point::max()) co_return co_await std::move(asking);
    // The call itself ends a moment before, and says where it stood.
    constexpr duration longer = std::chrono::milliseconds(100);
    auto limited = with_deadline(coracle::detail::later(ends_, longer), std::move(asking));
    const auto code = co_await as_result(limited);
    if (code) co_return *code;
    if (code.error() != std::errc::timed_out) throw_exception(code.error());
    co_return fail(error(std::errc::timed_out, "total_timeout"));
}

/// Returns false if there is no time for another request.
task<bool> transfer::wait_for_retry(unsigned tries) {
    const http::retry_options& retry = room_.settings.client.retry;
    duration delay = retry.delay;
    const unsigned doubled = retry.backoff ? tries : 0;
    for (unsigned i = 0; i != doubled && delay < retry.longest_delay; ++i) delay *= 2;
    delay = std::min(delay, retry.longest_delay);
    if (delay >= ends_ - loop::current()->now()) co_return false;
    auto sleeping = sleep_for(delay);
    const auto slept = co_await as_result(sleeping);
    co_return slept.has_value();
}

task<int> transfer::run() {
    room_.display.begin(progress_, loop::current()->now());
    int code = get_ok;
    for (unsigned tries = 0;; ++tries) {
        goes_on_ = false;
        try {
            // A retry resumes only bytes that are known to be of the same version.
            const bool goes_on = tries != 0 && !out_.validator().empty();
            const auto from = tries == 0 ? room_.settings.resume_from : std::nullopt;
            code = co_await ask_in_time(room_.settings.resume || goes_on, from);
        } catch (const exception& e) {
            code = fail(e.error());
        } catch (const unreadable& e) {
            code = fail(get_read_error, e.what());
        } catch (const unwritable& e) {
            code = fail(get_write_error, e.what());
        } catch (const std::system_error& e) {
            code = fail(get_write_error, e.what());
        }
        if (code != get_ok && std::exchange(is_for_now_, false)) out_.discard();
        if (!goes_on_ || retries_ >= room_.settings.client.retry.retries) break;
        const bool again = co_await wait_for_retry(tries);
        if (!again) break;
        ++retries_;
    }
    room_.display.end(progress_);
    co_return code;
}

}  // namespace coracle::tool
