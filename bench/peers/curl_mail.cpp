// libcurl's SMTP: easy handles that are used again, on one multi handle which keeps their
// connections, with libcurl's own poll.
//
//   curl_mail URL COUNT CONCURRENCY [FILE]
//
// Without FILE each mail is the one of 4 KiB; with it, a mail with the file attached.

#include "../support/mail.hpp"
#include "../support/spent.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

struct mail {
    CURL* easy = nullptr;
    const std::string* text = nullptr;
    std::size_t sent = 0;
};

std::size_t read_mail(char* into, std::size_t size, std::size_t count, void* from) {
    mail& m = *static_cast<mail*>(from);
    const std::size_t n = std::min(size * count, m.text->size() - m.sent);
    std::memcpy(into, m.text->data() + m.sent, n);
    m.sent += n;
    return n;
}

class client {
public:
    client(const bench::calls_wanted& wanted, const char* file)
        : wanted_(wanted), multi_(curl_multi_init()),
          recipients_(curl_slist_append(nullptr, bench::mail_recipient)),
          fields_(curl_slist_append(nullptr, "Subject: a file")) {
        const auto connections = static_cast<long>(wanted.concurrency);
        curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, connections);
        curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
        for (std::size_t i = 0; i < std::min(wanted.count, wanted.concurrency); ++i) add(file);
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() {
        for (const auto& m : mails_) curl_easy_cleanup(m->easy);
        for (curl_mime* each : mimes_) curl_mime_free(each);
        curl_multi_cleanup(multi_);
        curl_slist_free_all(recipients_);
        curl_slist_free_all(fields_);
    }

    void run() {
        for (const auto& m : mails_) start(*m);
        int running = 0;
        while (ok + otherwise < wanted_.count) {
            curl_multi_perform(multi_, &running);
            if (!take_results()) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
        }
    }

    std::size_t ok = 0;
    std::size_t otherwise = 0;

private:
    void add(const char* file) {
        mail& m = *mails_.emplace_back(std::make_unique<mail>());
        m.easy = curl_easy_init();
        m.text = &text_;
        curl_easy_setopt(m.easy, CURLOPT_URL, wanted_.url);
        curl_easy_setopt(m.easy, CURLOPT_PROXY, "");
        curl_easy_setopt(m.easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(m.easy, CURLOPT_MAIL_FROM, bench::mail_sender);
        curl_easy_setopt(m.easy, CURLOPT_MAIL_RCPT, recipients_);
        curl_easy_setopt(m.easy, CURLOPT_PRIVATE, &m);
        if (file != nullptr) return attach(m, file);
        curl_easy_setopt(m.easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(m.easy, CURLOPT_READFUNCTION, &read_mail);
        curl_easy_setopt(m.easy, CURLOPT_READDATA, &m);
    }

    void attach(mail& m, const char* file) {
        curl_mime* const parts = mimes_.emplace_back(curl_mime_init(m.easy));
        curl_mimepart* const text = curl_mime_addpart(parts);
        curl_mime_data(text, "Here.\r\n", CURL_ZERO_TERMINATED);
        curl_mimepart* const attached = curl_mime_addpart(parts);
        curl_mime_filedata(attached, file);
        curl_mime_type(attached, "application/octet-stream");
        curl_mime_encoder(attached, "base64");
        curl_easy_setopt(m.easy, CURLOPT_HTTPHEADER, fields_);
        curl_easy_setopt(m.easy, CURLOPT_MIMEPOST, parts);
    }

    void start(mail& m) {
        if (started_ == wanted_.count) return;
        ++started_;
        m.sent = 0;
        curl_multi_add_handle(multi_, m.easy);
    }

    bool take_results() {
        bool any = false;
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL* const easy = message->easy_handle;
            const CURLcode result = message->data.result;
            if (result != CURLE_OK && otherwise == 0) {
                std::fprintf(stderr, "%s\n", curl_easy_strerror(result));
            }
            ++(result == CURLE_OK ? ok : otherwise);
            mail* m = nullptr;
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &m);
            curl_multi_remove_handle(multi_, easy);
            start(*m);
            any = true;
        }
        return any;
    }

    bench::calls_wanted wanted_;
    CURLM* multi_;
    curl_slist* recipients_;
    curl_slist* fields_;
    std::string text_ = bench::small_mail();
    std::vector<std::unique_ptr<mail>> mails_;
    std::vector<curl_mime*> mimes_;
    std::size_t started_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted = bench::read_calls_wanted(argc, argv, " [FILE]");
    curl_global_init(CURL_GLOBAL_ALL);
    int code = 0;
    {
        client all(wanted, argc > 4 ? argv[4] : nullptr);
        const bench::growth since_now;
        all.run();
        since_now.print();
        code = bench::report_calls(wanted.count, all.ok, all.otherwise);
    }
    curl_global_cleanup();
    return code;
}
