#pragma once

#include <coracle/net/listener.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {

struct patient_mail_options {
    std::string capabilities = {};  ///< lines of the reply to EHLO
    unsigned refused = 0;           ///< so many recipients, from the first on
    unsigned refused_contents = 0;  ///< so many mails at their end, from the first on
    unsigned nested = 0;            ///< so many MAIL that come with the end of another, by 503
    unsigned last_content = 0;      ///< with the end of this mail it cuts the connection
};

/// A server of mail that replies to what has come when nothing more comes for a second: a client
/// that waits for replies gets them, and what it sends without waiting is seen to come in one go.
/// Listens at 127.0.0.1:2525 in a simulated world.
class patient_mail_server {
public:
    explicit patient_mail_server(patient_mail_options o) : options_(std::move(o)) {}

    /// Serves so many connections to their ends, one after the other.
    task<> serve(unsigned connections = 1) {
        auto listener =
            net::listener::open(*loop::current(), *net::address::parse("127.0.0.1:2525"));
        for (; connections != 0; --connections) {
            auto s = co_await listener->accept();
            auto serving = serve_one(s.get());
            co_await std::move(serving);
        }
    }

    /// The commands of each go, by their verbs: "MAIL RCPT RCPT", "content MAIL RCPT". Without
    /// QUIT, which a client says as far as that needs no waiting.
    std::vector<std::string> goes;
    /// Mails that were taken.
    unsigned taken = 0;

private:
    task<> serve_one(net::socket* s) {
        co_await s->send("220 x\r\n");
        for (bool open = true; open;) {
            std::string go;
            for (;;) {
                auto limited = with_timeout(std::chrono::seconds(1), s->receive());
                auto got = co_await as_result(limited);
                if (!got && got.error() != std::errc::timed_out) open = false;
                if (!got) break;
                go += got->view();
            }
            const std::string replies = replies_to(go);
            // The client may have gone, after QUIT.
            if (!replies.empty()) static_cast<void>(co_await as_result(s->send(replies)));
            if (cut_) break;
        }
        cut_ = in_data_ = false;
    }

    std::string reply_to(std::string_view line, std::string_view verb, bool first) {
        if (verb == "EHLO") return "250-x\r\n" + options_.capabilities + "250 SIZE\r\n";
        if (verb == "RCPT" && options_.refused != 0) {
            --options_.refused;
            return "550 no\r\n";
        }
        if (verb == "MAIL" && !first && options_.nested != 0) {
            --options_.nested;
            return "503 nested\r\n";
        }
        if (verb == "BDAT") chunk_ = std::stoul(std::string(line.substr(5)));
        in_data_ = verb == "DATA";
        return in_data_ ? "354 go\r\n" : "250 ok\r\n";
    }
    std::string end_content() {
        ++contents_;
        if (contents_ == options_.last_content) cut_ = true;
        if (cut_) return {};
        if (options_.refused_contents != 0) {
            --options_.refused_contents;
            return "554 no\r\n";
        }
        ++taken;
        return "250 kept\r\n";
    }
    std::string replies_to(std::string_view go) {
        if (go.starts_with('Q')) return {};
        std::string replies;
        std::string verbs;
        while (!go.empty() && !cut_) {
            const bool content = in_data_;
            const std::size_t end = content ? go.find("\r\n.\r\n") + 5 : go.find("\r\n") + 2;
            const std::string_view line = go.substr(0, end);
            const std::string verb(content ? "content" : line.substr(0, 4));
            replies += content ? end_content() : reply_to(line, verb, verbs.empty());
            if (content) in_data_ = false;
            verbs.append(verbs.empty() ? "" : " ").append(verb);
            go.remove_prefix(end);
            if (verb != "BDAT") continue;
            go.remove_prefix(chunk_);
            replies.resize(replies.size() - std::string_view("250 ok\r\n").size());
            replies += end_content();
        }
        if (!verbs.empty()) goes.push_back(std::move(verbs));
        return replies;
    }

    patient_mail_options options_;
    unsigned contents_ = 0;
    std::size_t chunk_ = 0;
    bool in_data_ = false;
    bool cut_ = false;
};

}  // namespace coracle::testing
