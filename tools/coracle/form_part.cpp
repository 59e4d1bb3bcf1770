#include "form_part.hpp"

#include "input_file.hpp"
#include "settings.hpp"

#include <coracle/mime/disposition.hpp>
#include <coracle/mime/media_type.hpp>

#include <utility>
#include <vector>

namespace coracle::tool {

form_part::form_part(std::string_view text) : shown_(text) {
    const std::size_t at = text.find('=');
    if (at == std::string_view::npos || at == 0) {
        throw failure("cannot read --form '" + shown_ +
                      "': write it as in --form name=value or --form name=@FILE");
    }
    name_ = text.substr(0, at);
    text.remove_prefix(at + 1);
    if (text.starts_with('@') || text.starts_with('<')) {
        mark_ = text.front();
        text.remove_prefix(1);
    }
    // They would be sent as content.
    content_ = read_file_argument(text, "filename", {"encoder", "headers"});
    if (content_.type && !mime::parse_media_type(*content_.type)) {
        throw failure("cannot read --form '" + shown_ + "': '" + *content_.type +
                      "' is no media type");
    }
    is_of_disk_ = mark_ == '@' && !content_.name && !is_of_input() && !is_pipe(content_.value);
}

void form_part::read(const std::optional<std::string>& input) {
    if (mark_ == '\0')
        text_ = content_.value;
    else if (is_of_input() && input)
        text_ = *input;
    else if (!is_of_disk_)
        text_ = content_of(content_.value);
}

void form_part::add_file(http::form_body& form) const {
    const std::string given = content_.value.substr(content_.value.rfind('/') + 1);
    const std::string called = content_.name.value_or(given);
    // Nobody has said which characters it has.
    std::string_view guess = mime::media_type_of(called);
    guess = guess.substr(0, guess.find(';'));
    const std::string type(content_.type ? std::string_view(*content_.type) : guess);
    if (is_of_disk_)
        form.add_file(name_, content_.value, type);
    else
        form.add_data(name_, called, text_, type);
}

void form_part::add_text(http::form_body& form) const {
    if (!content_.type && !content_.name) {
        form.add(name_, text_);
        return;
    }
    const std::string field = mime::format_disposition({"form-data", name_, content_.name});
    std::vector<mime::part_field> head{{"Content-Disposition", field}};
    if (content_.type) head.push_back({"Content-Type", *content_.type});
    form.add_part(std::move(head), text_);
}

void form_part::add_to(http::form_body& form) const {
    try {
        if (mark_ == '@')
            add_file(form);
        else
            add_text(form);
    } catch (const exception& e) {
        const std::string why =
            "cannot send --form '" + shown_ + "': " + e.error().code().message();
        if (e.error().operation() == "open") throw unreadable(why);
        throw failure(why);
    }
}

}  // namespace coracle::tool
