#include "http/client/file_content.hpp"
#include "http/message/token.hpp"

#include <coracle/http/form_body.hpp>
#include <coracle/mime/disposition.hpp>

#include <algorithm>

namespace coracle::http {

/// A part: the lines before it, and its content: text, a file, the output of a function, or a
/// nested body.
struct form_body::part {
    struct line {
        std::string name;
        std::string value;
    };
    std::vector<line> lines;
    std::string text;
    file_range file;
    body::stream_function write;
    std::optional<std::uint64_t> size;
    std::unique_ptr<form_body> inner;
};

/// A piece of the whole body: bytes, optionally followed by a file or the output of a function.
struct form_body::segment {
    std::string bytes;
    file_range* file = nullptr;
    body::stream_function* write = nullptr;
    std::uint64_t size = 0;  ///< size of the content that is not in `bytes`
    bool known = true;
};

form_body::form_body(std::string_view subtype) : subtype_(subtype) {
    if (!is_token(subtype)) {
        throw_exception(error(std::errc::invalid_argument, "form_body").on(subtype));
    }
}
form_body::form_body(form_body&&) noexcept = default;
form_body& form_body::operator=(form_body&&) noexcept = default;
form_body::~form_body() = default;

namespace {

std::string disposition_of(std::string_view name, std::optional<std::string> filename) {
    return mime::format_disposition({"form-data", std::string(name), std::move(filename)});
}

/// A failure to read the file is one of sending, as that of a body which is a file.
task<> write_file(body_writer& out, const file_range& file) {
    const auto written = co_await as_result(out.write_file(file.fd(), file.offset(), file.size()));
    if (written) co_return;
    error why = written.error();
    if (why.phase() == phase::none) why.in(phase::send);
    throw_exception(std::move(why));
}

/// Opens the file now, and not when the call is made, so that adding the part fails.
void check_line(std::string_view name, std::string_view value) {
    if (is_token(name) && is_field_value(value)) return;
    throw_exception(error(std::errc::invalid_argument, "multipart field").on(name));
}

}  // namespace

form_body& form_body::add(std::string_view name, std::string_view value) {
    part p;
    p.lines.push_back({"Content-Disposition", disposition_of(name, std::nullopt)});
    p.text = value;
    parts_.push_back(std::move(p));
    return *this;
}

form_body& form_body::add_data(std::string_view name, std::string_view filename,
                               std::string content, std::string_view media_type) {
    check_line("Content-Type", media_type);
    part p;
    p.lines.push_back({"Content-Disposition", disposition_of(name, std::string(filename))});
    p.lines.push_back({"Content-Type", std::string(media_type)});
    p.text = std::move(content);
    parts_.push_back(std::move(p));
    return *this;
}

form_body& form_body::add_file(std::string_view name, const std::string& path,
                               std::string_view media_type,
                               std::optional<std::string_view> filename) {
    auto opened = detail::open_content(path);
    if (!opened) throw_exception(std::move(opened).error());
    // Without a slash this is the whole name.
    const std::string_view last = std::string_view(path).substr(path.rfind('/') + 1);
    add_data(name, filename.value_or(last), std::move(opened->text), media_type);
    if (opened->file.size() != 0) {
        part& p = parts_.back();
        p.size = opened->file.size();
        p.file = std::move(opened->file);
    }
    return *this;
}

form_body& form_body::add_stream(std::string_view name, std::string_view filename,
                                 std::string_view media_type, body::stream_function write,
                                 std::optional<std::uint64_t> size) {
    add_data(name, filename, {}, media_type);
    parts_.back().write = std::move(write);
    parts_.back().size = size;
    return *this;
}

form_body& form_body::add(std::string_view name, form_body inner) {
    part p;
    if (!name.empty()) {
        p.lines.push_back({"Content-Disposition", disposition_of(name, std::nullopt)});
    }
    p.inner = std::make_unique<form_body>(std::move(inner));
    parts_.push_back(std::move(p));
    return *this;
}

form_body& form_body::add_part(std::vector<mime::part_field> fields, std::string content) {
    part p;
    p.lines.reserve(fields.size());
    for (const mime::part_field& f : fields) {
        check_line(f.name, f.value);
        p.lines.push_back({std::string(f.name), std::string(f.value)});
    }
    p.text = std::move(content);
    parts_.push_back(std::move(p));
    return *this;
}

void form_body::write_into(std::vector<segment>& out, mime::boundary_seed seed, std::string& type) {
    mime::multipart_writer writer(seed);
    type = writer.content_type(subtype_);
    for (part& p : parts_) {
        std::vector<segment> within(p.inner != nullptr ? 1 : 0);
        std::string inner_type;
        std::vector<mime::part_field> lines;
        lines.reserve(p.lines.size() + 1);
        for (const part::line& l : p.lines) lines.push_back({l.name, l.value});
        if (p.inner != nullptr) {
            // A nested body needs another boundary, which must not begin with the outer one.
            p.inner->write_into(within, {seed.low, seed.high + 0x9e3779b97f4a7c15}, inner_type);
            lines.push_back({"Content-Type", inner_type});
        }
        out.back().bytes += writer.open_part(lines) + p.text;
        if (p.file.fd() >= 0 || p.write) {
            out.back().file = p.file.fd() >= 0 ? &p.file : nullptr;
            out.back().write = p.write ? &p.write : nullptr;
            out.back().size = p.size.value_or(0);
            out.back().known = p.size.has_value();
            out.emplace_back();
        }
        for (segment& s : within) {
            out.back().bytes += s.bytes;
            if (s.file == nullptr && s.write == nullptr) continue;
            s.bytes = std::move(out.back().bytes);
            out.back() = std::move(s);
            out.emplace_back();
        }
    }
    out.back().bytes += writer.close();
}

bool form_body::can_be_made_again() const noexcept {
    return std::ranges::none_of(parts_, [](const part& p) {
        return p.write || (p.inner != nullptr && !p.inner->can_be_made_again());
    });
}

form_body::made form_body::make(mime::boundary_seed seed) {
    made m;
    auto all = std::make_shared<std::vector<segment>>(1);
    write_into(*all, seed, m.type);
    if (all->size() == 1) {
        m.content = body(std::move(all->front().bytes));
        return m;
    }
    std::optional<std::uint64_t> size = 0;
    for (const segment& s : *all) {
        if (s.write != nullptr) m.again = false;
        size = size && s.known ? std::optional(*size + s.bytes.size() + s.size) : std::nullopt;
    }
    m.content = body::stream(
        [all](body_writer& out) -> task<> {
            for (const segment& s : *all) {
                co_await out.write(s.bytes);
                if (s.file != nullptr) {
                    auto writing = write_file(out, *s.file);
                    co_await std::move(writing);
                }
                if (s.write != nullptr) co_await (*s.write)(out);
            }
        },
        size);
    return m;
}

}  // namespace coracle::http
