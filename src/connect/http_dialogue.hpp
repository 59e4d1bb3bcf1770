#pragma once

#include "connect/dialogue.hpp"

#include <vector>

namespace coracle::connect {

/// CONNECT (RFC 9110 section 9.3.6) in HTTP/1.1. Interprets the status and the challenges of the
/// response only. Lines may end with LF alone.
class http_dialogue final : public dialogue {
public:
    /// Refuses credentials that cannot be sent.
    static std::expected<std::unique_ptr<dialogue>, refusal> make(const proxy& p,
                                                                  std::string_view host,
                                                                  std::uint16_t port,
                                                                  unsigned repeats);

    std::size_t take(std::string_view bytes) override;

private:
    http_dialogue(const proxy& p, unsigned repeats)
        : authenticator_(p.authenticator()), repeats_(repeats) {}

    void ask(const std::string& target, const secret& authorization);
    void line_came();
    void status_line_came();
    void field_line_came();
    void field_came();
    void head_came();
    void refused();

    std::shared_ptr<proxy_authenticator> authenticator_;
    unsigned repeats_;
    bool has_credentials_ = false;
    std::vector<std::string> challenges_;
    std::string line_;   ///< the received part of the current line
    std::string field_;  ///< the previous line, which the current one may continue
    std::size_t bytes_ = 0;
    std::size_t lines_ = 0;
    unsigned interim_ = 0;
    int status_code_ = 0;  ///< 0: the next line is that of the status
    std::string status_text_;
    std::string schemes_;  ///< "Basic, Digest"
};

}  // namespace coracle::connect
