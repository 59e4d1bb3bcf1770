#pragma once

#include <coracle/mime/multipart.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

class request;

/// Limits of a multipart body. Beyond one of them the awaited operation fails with status 413, and
/// has the name of the limit as its subject.
struct multipart_limits {
    std::uint64_t body = 4'294'967'296;  ///< bytes in all, framing included: 4 GiB
    std::uint64_t part = 1'073'741'824;  ///< bytes of one part: 1 GiB
    std::size_t files = 100;             ///< parts that have a file name
    mime::multipart_limits format = {};  ///< parts, their headers, the boundary

    /// Returns the defaults of `read_multipart`: 1 MiB a part and 8 MiB in all.
    static multipart_limits in_memory() noexcept {
        multipart_limits l;
        l.body = 8 * 1024 * 1024;
        l.part = 1024 * 1024;
        return l;
    }
};

/// The file that `multipart_part` has written.
struct saved_file {
    std::string path;
    std::uint64_t size = 0;  ///< bytes
};

/// The naming of files by `multipart_part::save_in`.
enum class file_naming : std::uint8_t {
    random,   ///< 32 hexadecimal digits of the loop's randomness
    as_sent,  ///< the client's name after `mime::safe_filename`, with "-1" and so on before its
              ///< extension (32 bytes at most, else behind all of it) when that is taken (a random
              ///< number after a hundred); `random` when nothing is left of it
};

class multipart_reader;

/// A part of a multipart body as it arrives. Belongs to its reader, and is the same object as
/// long as that reads this part; views that it gives live as long.
class multipart_part {
public:
    multipart_part(const multipart_part&) = delete;
    multipart_part& operator=(const multipart_part&) = delete;

    /// The name of the form's field; empty when it has none.
    std::string_view name() const noexcept { return name_; }
    /// The file name as the client gave it: any bytes, any path. `mime::safe_filename` makes a name
    /// of it.
    std::optional<std::string_view> filename() const noexcept {
        return filename_ ? std::optional<std::string_view>(*filename_) : std::nullopt;
    }
    /// The Content-Type, else text/plain (RFC 7578 section 4.4).
    std::string_view type() const noexcept { return type_; }
    std::span<const mime::part_field> fields() const noexcept;

    /// The next piece, as it comes; empty at the end. Valid until the next call. Fails as
    /// `multipart_reader::next`. Cancelling it loses the body.
    operation<std::string_view> read();
    /// Reads the rest, at most `limit` bytes: beyond it fails with status 413.
    operation<std::string> text(std::size_t limit = 1024 * 1024);

    /// Writes the rest of the part to the file `path`, replacing an older one. The file appears
    /// when it is complete, and not at all after a failure or a cancellation. The loop is not
    /// blocked: the threads for files write it, 256 KiB at a time, and no more is held. What was
    /// written is not flushed to the disk. Fails as `read` does, and as open(2), write(2) and
    /// rename(2) do; a full disk (`std::errc::no_space_on_device`) that a handler lets pass becomes
    /// a 507.
    operation<saved_file> save(std::string_view path);
    /// Writes the rest of the part to a new file in the directory `path`; never replaces one.
    operation<saved_file> save_in(std::string_view directory,
                                  file_naming naming = file_naming::random);

private:
    friend class multipart_reader;
    explicit multipart_part(multipart_reader& r) noexcept : reader_(&r) {}
    static task<std::expected<std::string_view, error>> read_piece(multipart_reader* reader);
    static task<std::expected<std::string, error>> read_all(multipart_reader* reader,
                                                            std::size_t limit);

    multipart_reader* reader_;
    std::string name_;
    std::optional<std::string> filename_;
    std::string_view type_;
};

/// Reads the parts of a request's multipart body one after the other, as they arrive, and holds no
/// more of them than a piece:
///
///     http::multipart_reader parts(req);
///     while (auto* part = co_await parts.next()) { ... }
///
/// The request must outlive it. One wait at a time; not thread-safe.
class multipart_reader {
public:
    explicit multipart_reader(request& req, const multipart_limits& limits = {});
    multipart_reader(const multipart_reader&) = delete;
    multipart_reader& operator=(const multipart_reader&) = delete;

    /// The next part, null at the end. What is left of the part before is passed over. Fails with
    /// status 415 when the request's Content-Type is not multipart, with 400 when the body or that
    /// field is malformed, with 413 beyond a limit, and as reading the body does; then it goes on
    /// to fail so. Cancelling it loses the body.
    operation<multipart_part*> next();

private:
    friend class multipart_part;
    static task<std::expected<multipart_part*, error>> next_part(multipart_reader* self);
    static task<std::expected<mime::multipart_event, error>> next_event(multipart_reader* self);
    std::expected<mime::multipart_event, error> take();
    std::expected<void, error> take_piece(std::string_view piece);
    std::expected<void, error> open_part();
    std::unexpected<error> fail(error e);
    std::unexpected<error> fail(mime::multipart_error e);

    request* request_;
    multipart_limits limits_;
    mime::multipart_parser parser_;
    multipart_part part_;
    std::string_view rest_;  // of the piece that was read last
    std::uint64_t body_bytes_ = 0;
    std::uint64_t part_bytes_ = 0;
    std::size_t files_ = 0;
    bool in_part_ = false;
    bool ended_ = false;
    std::optional<error> error_;
};

/// A multipart body in memory.
class multipart_form {
public:
    struct part {
        std::string name;
        std::optional<std::string> filename;  ///< as the client gave it
        std::string type;
        std::string data;
    };

    const part* begin() const noexcept { return parts_.data(); }
    const part* end() const noexcept { return parts_.data() + parts_.size(); }
    std::size_t size() const noexcept { return parts_.size(); }
    /// The first part of this name, whichever kind it is, or null.
    const part* find(std::string_view name) const noexcept;
    /// The data of that part.
    std::optional<std::string_view> get(std::string_view name) const noexcept;

    /// Adds a part. For readers.
    void add(part p) { parts_.push_back(std::move(p)); }

private:
    std::vector<part> parts_;
};

/// Reads all parts of a multipart body into memory. Fails as `multipart_reader` does. `req` must
/// outlive it.
operation<multipart_form> read_multipart(request& req,
                                         multipart_limits limits = multipart_limits::in_memory());

}  // namespace coracle::http
