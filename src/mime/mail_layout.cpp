#include <coracle/mime/field.hpp>
#include <coracle/mime/mail_layout.hpp>

#include <utility>

namespace coracle::mime {
namespace {

bool occurs(std::string_view boundary, const mail_part& p) noexcept {
    if (p.content.find(boundary) != std::string::npos) return true;
    for (const mail_part& child : p.children) {
        if (occurs(boundary, child)) return true;
    }
    return false;
}

class layout {
public:
    layout(std::string header, unique_function<boundary_seed()> random)
        : text_(std::move(header)), random_(std::move(random)) {}

    std::expected<void, error> add(const mail_part& p) {
        return p.children.empty() ? add_leaf(p) : add_multipart(p);
    }

    std::vector<mail_segment> finish() {
        all_.push_back({std::move(text_), {}, {}});
        return std::move(all_);
    }

private:
    std::expected<void, error> add_leaf(const mail_part& p) {
        auto written = append_field(text_, "Content-Type", p.content_type);
        if (!written) return written;
        text_.append(p.header).append("\r\n");
        if (p.external) {
            all_.push_back({std::exchange(text_, {}), p.external, p.external_size});
        } else {
            text_ += p.content;
        }
        return {};
    }

    std::expected<void, error> add_multipart(const mail_part& p) {
        // "=_" occurs neither in quoted-printable nor in base64 (RFC 2045 section 6.7).
        std::string boundary;
        do {
            boundary = "=_";
            boundary += multipart_writer(random_()).boundary();
        } while (occurs(boundary, p));
        auto written =
            append_field(text_, "Content-Type", p.content_type + "; boundary=\"" + boundary + '"');
        if (!written) return written;
        text_.append(p.header).append("\r\n");
        for (const mail_part& child : p.children) {
            text_.append("--").append(boundary).append("\r\n");
            if (auto added = add(child); !added) return added;
            text_ += "\r\n";
        }
        text_.append("--").append(boundary).append("--\r\n");
        return {};
    }

    std::string text_;
    std::vector<mail_segment> all_;
    unique_function<boundary_seed()> random_;
};

}  // namespace

std::expected<std::vector<mail_segment>, error> lay_out_mail(
    std::string header, const mail_part& root, unique_function<boundary_seed()> random) {
    header += "MIME-Version: 1.0\r\n";
    layout l(std::move(header), std::move(random));
    if (auto added = l.add(root); !added) return std::unexpected(std::move(added).error());
    return l.finish();
}

std::optional<std::uint64_t> size_of(const std::vector<mail_segment>& all) noexcept {
    std::uint64_t size = 0;
    for (const mail_segment& s : all) {
        if (s.external && !s.external_size) return std::nullopt;
        size += s.bytes.size() + s.external_size.value_or(0);
    }
    return size;
}

}  // namespace coracle::mime
