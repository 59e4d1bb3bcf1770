#include "base/ascii.hpp"
#include "http/decoding_source.hpp"
#include "http/message/digest_fields.hpp"
#include "http/message/token.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

using detail::decoding_source;

using shared_options = std::shared_ptr<const decompress_options>;

/// The memory of the decoders of one `decompress` on one loop. It holds its options, so that no
/// others can be made at their address and be taken for them.
class loop_budget final : public resident, public coding::decoder_budget {
public:
    /// Returns the budget of the loop of this thread, or null where none runs.
    static loop_budget* of(const shared_options& options) {
        loop* const here = loop::current();
        if (here == nullptr) return nullptr;
        if (resident* known = here->find_resident(options.get())) {
            return static_cast<loop_budget*>(known);
        }
        auto* const made = new loop_budget(options);
        here->settle(*made);
        return made;
    }

private:
    explicit loop_budget(shared_options options) noexcept
        : resident(options.get()), decoder_budget{options->memory, 0},
          options_(std::move(options)) {}
    ~loop_budget() = default;
    void loop_ended() noexcept override { delete this; }

    shared_options options_;
};

/// The decoders of one request's body, in its data: what reads it while the response is written, or
/// beside the handler, needs them as long as the request lives.
struct decoders_of_request {
    std::vector<std::unique_ptr<decoding_source>> all;
};

void decode_body(request& req, const std::vector<content_coding>& codings,
                 const shared_options& options) {
    decoding_limits limits = options->limits;
    limits.window = std::min(limits.window, options->window);
    coding::decoder_budget* const budget = loop_budget::of(options);
    auto* decoders = req.data<decoders_of_request>();
    if (decoders == nullptr) decoders = &req.emplace_data<decoders_of_request>();
    received_body body = req.body();
    // The last one was applied last (RFC 9110 section 8.4).
    for (auto coding = codings.rbegin(); coding != codings.rend(); ++coding) {
        decoders->all.push_back(std::make_unique<decoding_source>(
            body, *coding, limits, detail::decoding_limit_names{}, budget));
        body = received_body(decoders->all.back().get());
    }
    req.set_body(body);
    detail::drop_coding_fields(req.fields());
}

/// The codings of a request in the order in which they were applied; false when one is not
/// accepted, or when there are too many.
bool read_codings(const fields& all, const decompress_options& options,
                  std::vector<content_coding>& out) {
    for (const field& f : all) {
        if (f.id != field_id::content_encoding) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            const std::string_view name = trim_ows(coracle::detail::take_item(rest));
            if (name.empty()) continue;
            const auto coding = find_content_coding(name);
            if (coding == content_coding::identity) continue;
            if (!coding || std::ranges::find(options.codings, *coding) == options.codings.end() ||
                out.size() == options.limits.codings) {
                return false;
            }
            out.push_back(*coding);
        }
    }
    return true;
}

response not_accepted(const decompress_options& options) {
    std::string accepted;
    for (const content_coding coding : options.codings) {
        if (!accepted.empty()) accepted += ", ";
        accepted += to_string(coding);
    }
    response r(status::unsupported_media_type, "the content coding is not supported\n");
    r.set("Accept-Encoding", accepted.empty() ? "identity" : accepted);
    return r;
}

class decompressing_handler final : public handler::implementation {
public:
    decompressing_handler(handler inner, shared_options options) noexcept
        : inner_(std::move(inner)), options_(std::move(options)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (req.body().ended() || !req.fields().contains(field_id::content_encoding)) {
            return inner_.call(req, out, pending);
        }
        std::vector<content_coding> codings;
        if (!read_codings(req.fields(), *options_, codings)) {
            out = not_accepted(*options_);
            return true;
        }
        decode_body(req, codings, options_);
        return inner_.call(req, out, pending);
    }

private:
    handler inner_;
    shared_options options_;
};

}  // namespace

decompress::decompress(decompress_options options)
    : options_(std::make_shared<const decompress_options>(std::move(options))) {}

handler decompress::operator()(handler inner) const {
    return handler(std::make_shared<decompressing_handler>(std::move(inner), options_));
}

}  // namespace coracle::http
