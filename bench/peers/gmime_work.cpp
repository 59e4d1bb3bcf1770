// As bench/e2e/mime_work.cpp, by GMime: gmime_work parse|build FILE COUNT

#include "../support/cpu_time.hpp"

#include <gmime/gmime.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

GMimeStream* stream_of(const std::string& bytes) {
    return g_mime_stream_mem_new_with_buffer(bytes.data(), bytes.size());
}

// Decodes the content of each part, which our parser does too.
void decode(GMimeObject*, GMimeObject* part, gpointer total) {
    if (!GMIME_IS_PART(part)) return;
    GMimeDataWrapper* const content = g_mime_part_get_content(GMIME_PART(part));
    if (content == nullptr) return;
    GMimeStream* const nowhere = g_mime_stream_null_new();
    *static_cast<gint64*>(total) += g_mime_data_wrapper_write_to_stream(content, nowhere);
    g_object_unref(nowhere);
}

std::size_t parse(const std::string& mail) {
    GMimeStream* const stream = stream_of(mail);
    GMimeParser* const parser = g_mime_parser_new_with_stream(stream);
    GMimeMessage* const message = g_mime_parser_construct_message(parser, nullptr);
    gint64 total = 0;
    g_mime_message_foreach(message, decode, &total);
    g_object_unref(message);
    g_object_unref(parser);
    g_object_unref(stream);
    return static_cast<std::size_t>(total);
}

GMimeObject* part_of(const char* type, const char* subtype, GMimeStream* stream,
                     GMimeContentEncoding encoding) {
    GMimePart* const part = g_mime_part_new_with_type(type, subtype);
    GMimeDataWrapper* const content =
        g_mime_data_wrapper_new_with_stream(stream, GMIME_CONTENT_ENCODING_DEFAULT);
    g_mime_part_set_content(part, content);
    g_mime_part_set_content_encoding(part, encoding);
    g_object_unref(content);
    return GMIME_OBJECT(part);
}

std::size_t build(const std::string& content) {
    static const std::string text = "Here.\n";
    GMimeMessage* const message = g_mime_message_new(TRUE);
    g_mime_message_add_mailbox(message, GMIME_ADDRESS_TYPE_FROM, "Ada", "ada@x.example");
    g_mime_message_add_mailbox(message, GMIME_ADDRESS_TYPE_TO, "Bob", "bob@y.example");
    g_mime_message_set_subject(message, "A file", nullptr);
    GMimeMultipart* const all = g_mime_multipart_new_with_subtype("mixed");
    GMimeStream* const text_stream = stream_of(text);
    GMimeStream* const file_stream = stream_of(content);
    GMimeObject* const parts[] = {
        part_of("text", "plain", text_stream, GMIME_CONTENT_ENCODING_7BIT),
        part_of("application", "octet-stream", file_stream, GMIME_CONTENT_ENCODING_BASE64)};
    g_mime_part_set_filename(GMIME_PART(parts[1]), "file.bin");
    for (GMimeObject* const part : parts) g_mime_multipart_add(all, part);
    g_mime_message_set_mime_part(message, GMIME_OBJECT(all));
    char* const mail = g_mime_object_to_string(GMIME_OBJECT(message), nullptr);
    const std::size_t size = std::string_view(mail).size();
    g_free(mail);
    for (GMimeObject* const part : parts) g_object_unref(part);
    g_object_unref(text_stream);
    g_object_unref(file_stream);
    g_object_unref(all);
    g_object_unref(message);
    return size;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    g_mime_init();
    std::ifstream file(argv[2], std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const bool parses = std::string_view(argv[1]) == "parse";
    const long count = std::strtol(argv[3], nullptr, 10);
    std::size_t bytes = 0;
    const bench::cpu_time since_now;
    for (long i = 0; i != count; ++i) {
        const std::size_t n = parses ? parse(content) : build(content);
        if (n == 0) return 1;
        bytes += parses ? content.size() : n;
    }
    since_now.print(bytes);
    return 0;
}
