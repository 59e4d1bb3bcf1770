#pragma once

#include <coracle/mime/media_type.hpp>
#include <coracle/mime/transfer_encoding.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// Limits of a mail. A mail that exceeds one is read as far as possible, and `message_defects` says
/// so.
struct message_limits {
    std::size_t header_bytes = 256 * 1024;  ///< of the fields of one part
    std::size_t fields = 1000;              ///< of one part
    std::size_t parts = 1000;               ///< of the mail, itself included
    std::size_t depth = 32;                 ///< of parts within parts
};

/// Defects of a mail. Many programs write malformed mail, so it is read all the same.
struct message_defects {
    bool malformed_field = false;    ///< a line of a header is not a field; the body begins there
    bool no_boundary = false;        ///< a multipart has no boundary, and is read as content
    bool missing_start = false;      ///< the boundary of a multipart never occurs
    bool missing_end = false;        ///< a multipart ends before its last boundary
    bool damaged_content = false;    ///< base64 contains foreign bytes
    bool unknown_encoding = false;   ///< an unknown transfer encoding; the content stays encoded
    bool encoded_multipart = false;  ///< base64 or quoted-printable around parts; ignored
    bool limit_reached = false;      ///< a limit was exceeded: the rest is content, or left out

    friend bool operator==(const message_defects&, const message_defects&) = default;
};

/// A field of a header, without its folds. `mime::decode_words` decodes the value.
struct message_field {
    std::string name;
    std::string value;

    friend bool operator==(const message_field&, const message_field&) = default;
};

/// A part of a mail, as its header describes it.
struct message_part {
    std::vector<message_field> fields = {};
    media_type type = {};  ///< text/plain when it is missing or malformed
    transfer_encoding encoding = transfer_encoding::seven_bit;
    std::size_t depth = 0;   ///< 0: the mail itself
    bool container = false;  ///< a multipart or a message: parts follow, and no data

    /// Returns the value of the first field of this name, compared without case; empty when there
    /// is none.
    std::string_view field(std::string_view name) const noexcept;
    /// Returns the name of an attachment (from Content-Disposition, or else "name" of Content-Type)
    /// as it was sent; see `safe_filename`.
    std::optional<std::string> filename() const;
    /// Returns the type of Content-Disposition, "attachment" or "inline" or another, in lower case;
    /// empty when there is none.
    std::string disposition() const;
};

/// The next thing that `message_parser` found.
struct message_event {
    enum class kind : std::uint8_t {
        need_more,   ///< all of the input was consumed
        part_begin,  ///< `message_parser::part` describes it
        data,        ///< bytes of its content, decoded
        part_end,
        end,  ///< the end of the mail; only `finish` returns it
    };

    kind what = kind::need_more;
    std::size_t consumed = 0;
    /// Valid until the next call and as long as the input.
    std::string_view data = {};
};

/// Parses a mail (RFC 5322, RFC 2045, RFC 2046) that arrives in pieces of any size: multiparts and
/// messages (message/rfc822, global, news) within it to the depth that the limits allow, with
/// decoded content; comments in their fields are passed over. Keeps one header in
/// memory, or else at most a line. Lines end with CRLF or LF. Never fails: see `defects`. Does no
/// input or output.
///
///     for (auto e = parser.parse(bytes); e.what != kind::need_more; e = parser.parse(bytes)) {
///         bytes.remove_prefix(e.consumed);
///         ...
///     }
///     ... and in the end: parser.finish() until it gives kind::end
class message_parser {
public:
    explicit message_parser(const message_limits& limits = {}, bool decode = true);

    /// Returns the next event in `in`. Call it until it returns `need_more`, each time without the
    /// bytes that were consumed.
    message_event parse(std::string_view in);
    /// To be called at the end of the mail: returns the remaining events, one for each call, then
    /// always `end`.
    message_event finish();

    /// Returns the part that began last.
    const message_part& part() const noexcept { return part_; }
    std::size_t parts() const noexcept { return parts_; }
    const message_defects& defects() const noexcept { return defects_; }

private:
    using kind = message_event::kind;
    enum class state : std::uint8_t { header, content, skipped, ended };

    /// A part that has begun and not ended.
    struct frame {
        std::string boundary = {};
        bool digest = false;   ///< its parts are messages unless they say otherwise
        bool started = false;  ///< its first boundary was found
        bool closed = false;   ///< its last boundary was found
    };
    struct queued {
        kind what = kind::end;
        std::string data = {};
        message_part part = {};
    };
    struct found_boundary {
        std::size_t frame = 0;
        bool last = false;
    };

    void take_header(std::string_view& in);
    void take_content(std::string_view& in);
    void take_run(std::string_view run);
    void take_line(std::string_view line);
    void add_header_line(std::string_view line);
    void begin_header() noexcept;
    void open_part();
    bool is_container() noexcept;
    void describe(message_part& p);
    void close_down_to(std::size_t frames);
    bool take_boundary(std::string_view line);
    std::optional<found_boundary> find_boundary(std::string_view line) const noexcept;
    void emit(std::string_view bytes);
    void push_data();
    message_event next(std::size_t consumed);

    message_limits limits_;
    bool decode_;
    state state_ = state::header;
    std::vector<frame> open_;
    message_part part_;    ///< given to the caller
    message_part coming_;  ///< whose header is being read
    message_defects defects_;
    content_decoder decoder_;
    std::vector<queued> queue_;
    std::size_t queue_begin_ = 0;
    std::string given_;          ///< data of the last event
    std::string out_;            ///< content that was not given yet
    std::string line_;           ///< the beginning of a line whose end has not come
    bool in_long_line_ = false;  ///< amid one that is no boundary
    std::string held_;           ///< the end of the line before, which a boundary takes
    std::size_t header_size_ = 0;
    bool dropped_field_ = false;  ///< the last one was beyond a limit
    std::size_t parts_ = 0;
};

}  // namespace coracle::mime
