#pragma once

#include "smtp/message_state.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/mime/mail_layout.hpp>
#include <coracle/mime/transfer_encoding.hpp>
#include <coracle/runtime/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp::detail {

/// The form that the server takes a mail in.
struct mail_form {
    mime::transport_abilities abilities = {};
    bool utf8 = false;  ///< SMTPUTF8
};

/// A message as the bytes that are sent, made for one attempt: what is in files and streams is read
/// as it goes. Lines end with CRLF and dots are as they are. Belongs to one loop.
class outgoing_mail {
public:
    /// Opens the files of `m`, which must live until then.
    static task<std::expected<std::unique_ptr<outgoing_mail>, error>> open(const message& m);

    /// Lays it out in this form, from its beginning. Fails with `errc::needs_smtputf8` and
    /// `errc::needs_8bitmime` where the form does not allow what it is.
    std::expected<void, error> lay_out(const mail_form& form, loop& on);
    bool has_signers() const noexcept { return !state_->signers.empty(); }
    /// Signs what was laid out, of a mail that has signers: reads all of it once.
    task<std::expected<void, error>> sign(std::int64_t unix_time);

    /// Bytes of all; nothing where a stream does not say.
    std::optional<std::uint64_t> size() const noexcept;
    bool is_eight_bit() const noexcept { return is_eight_bit_; }
    bool is_binary() const noexcept { return is_binary_; }
    bool is_utf8() const noexcept { return is_utf8_; }

    /// The next bytes, valid until the next call; none at the end.
    task<std::expected<std::string_view, error>> next();
    /// Begins anew.
    void rewind() noexcept;

private:
    /// Content that is brought while the mail is sent.
    struct brought {
        const content* what = nullptr;
        fs::file file = {};
        std::uint64_t size = 0;  ///< of the file
        mime::transfer_encoding encoding = mime::transfer_encoding::base64;
    };

    explicit outgoing_mail(const message_state& s) noexcept : state_(&s) {}

    mime::mail_part body();
    std::vector<mime::mail_part> forms_of_text(std::size_t& main_form);
    mime::mail_part text_part(const std::string& text, std::string_view type);
    bool is_whole_mail() const noexcept;
    mime::mail_part attachment_part(std::size_t index);
    void describe_brought(mime::mail_part& p, std::size_t index);
    void put_encoding(mime::mail_part& p, mime::transfer_encoding e);
    std::expected<void, error> lay_out_raw();
    std::expected<std::size_t, error> read_memory(brought& b);
    task<std::expected<std::size_t, error>> read_brought(brought& b);
    task<std::expected<std::string_view, error>> next_brought(const mime::mail_segment& s);

    const message_state* state_;
    mail_form form_;
    std::vector<brought> brought_;
    std::vector<mime::mail_segment> segments_;
    std::string_view raw_;  ///< of a mail that was made elsewhere: behind the only segment
    bool is_eight_bit_ = false;
    bool is_binary_ = false;
    bool is_utf8_ = false;

    // Where it stands.
    std::size_t at_ = 0;
    std::size_t text_given_ = 0;
    std::size_t raw_given_ = 0;
    std::uint64_t offset_ = 0;  ///< within content that is brought
    bool ended_ = false;
    std::unique_ptr<io::source> source_;
    mime::base64_writer base64_;
    std::string block_;
    std::string encoded_;
};

}  // namespace coracle::smtp::detail
