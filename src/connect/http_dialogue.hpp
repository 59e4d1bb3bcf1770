#pragma once

#include "connect/dialogue.hpp"

#include <vector>

namespace coracle::connect {

/// CONNECT (RFC 9110 section 9.3.6) in HTTP/1.1. Reads no more of the answer than it needs: the
/// status and what credentials are wanted. Lines may end with LF alone.
class http_dialogue final : public dialogue {
public:
    /// Refuses what there is no way to authorize.
    static std::expected<std::unique_ptr<dialogue>, refusal> make(const proxy& p,
                                                                  std::string_view host,
                                                                  std::uint16_t port,
                                                                  unsigned answered);

    std::size_t take(std::string_view bytes) override;

private:
    http_dialogue(const proxy& p, unsigned answered)
        : authenticator_(p.authenticator()), answered_(answered) {}

    void ask(const std::string& target, const secret& authorization);
    void line_came();
    void status_line_came();
    void field_line_came();
    void head_came();
    void refused();

    std::shared_ptr<proxy_authenticator> authenticator_;
    unsigned answered_;
    bool has_credentials_ = false;
    std::vector<std::string> challenges_;
    std::string line_;  ///< the current one, as far as it is there
    std::size_t bytes_ = 0;
    std::size_t lines_ = 0;
    unsigned interim_ = 0;
    int status_code_ = 0;  ///< 0: the next line is that of the status
    std::string status_text_;
    std::string schemes_;  ///< "Basic, Digest"
};

}  // namespace coracle::connect
