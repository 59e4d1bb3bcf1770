#include "get_options.hpp"

#include "cli_options.hpp"
#include "get_texts.hpp"

#include <utility>

namespace coracle::tool {
namespace {

constexpr const char* about = R"(Request URLs, and write the responses to files or standard output.

The response to one URL goes to standard output; those to several URLs go to files named after them.
A download is written to FILE.part, and renamed to FILE when it is complete. When it breaks off, the
received bytes stay in FILE.part, and --continue resumes there. Options that curl has too mean the
same as in curl.

A URL with patterns stands for several URLs: {one,two}, [1-100], [001-100], [a-z], [0-100:10].
)";

constexpr const char* footer = R"(Environment:
  http_proxy, https_proxy, all_proxy, no_proxy
                   proxies, and the hosts that are reached without them
  CORACLE_<OPTION> any option of docs/options.md: CORACLE_CONNECT_TIMEOUT=5s. --config overrides
                   the environment, --options overrides --config, and other options override both
  CORACLE_LOG, CORACLE_BACKEND
                   as for `coracle serve`

Exit codes, as those of curl:
  0  success                                   47  too many redirects
  1  neither http nor https                    52  no response
  2  wrong usage                               53  a provider of OpenSSL cannot be loaded
  3  the URL is malformed                      56  receiving failed
  5  the proxy has no address                  58  our certificate or key cannot be read
  6  the host has no address                   59  a TLS option cannot be used
  7  cannot connect                            60  the certificate of the server is not trusted
  8  the response is malformed                 61  the body cannot be decoded
 18  the response ended early                  63  the response is too large
 22  a status of 400 or above (-f, or -C)      65  a redirect needs a body that cannot be re-read
 23  a file cannot be written                  77  the CA certificates cannot be read
 26  a file to send cannot be read             89  too many requests wait for a connection
 28  timeout                                   92  a stream of HTTP/2 failed
 33  the server cannot resume at that byte     94  the proxy rejected the credentials
 35  TLS failed                                97  the proxy refused the connection
 36  FILE is shorter than the offset of -C     98  the server requires a certificate
 43  an invalid argument                      100  the checksum differs; the file is removed
 45  no such network interface                130  interrupted
After several failures the exit code is that of the first.

Examples:
  coracle get https://example.com/
  coracle get -L -O https://example.com/large.iso --sha256 2c26b46b68ffc68ff99b453c1d3041341342...
  coracle get --continue -O https://example.com/large.iso
  coracle get -Z 'https://example.com/{a,b}-[01-12].csv' -o '#1_#2.csv'
  coracle get --json '{"name":"Ada"}' https://example.com/people
  coracle get -G --data-urlencode 'q=two words' https://example.com/search
  coracle get -F photo=@ada.jpg -u ada:secret https://example.com/upload
  coracle get -T report.pdf -u ada:secret https://example.com/files/
  coracle get -v --timing https://example.com/ -o -)";

/// In the order in which options of several kinds are given.
void bodies(CLI::App& get, const char* group, const char* name, std::vector<body_text>& into,
            body_text::kind how, const char* what) {
    const auto add = [&into, how](const std::string& text) { into.push_back({how, text}); };
    as_often_as_wanted(get.add_option_function<std::string>(name, add, what))
        ->trigger_on_parse()
        ->type_name("DATA")
        ->group(group);
}

}  // namespace

get_options::get_options(CLI::App& app)
    : texts_(std::make_unique<texts>()), command_(app.add_subcommand("get", about)),
      client_(*command_) {
    CLI::App& get = *command_;
    get.footer(footer);
    get.set_help_flag("-h,--help", "Print this help and exit");
    get.add_option("URL", texts_->settings.urls, "The URLs; without a scheme http:// is used")
        ->type_name("")
        ->required();
    add_request();
    add_data();
    add_credentials();
    client_.add_proxy();
    client_.add_connection();
    add_limits();
    add_output();
    add_report();
}

void get_options::add_request() {
    CLI::App& get = *command_;
    texts& t = *texts_;
    get_settings& s = t.settings;
    constexpr const char* group = "Request";
    add_text(get, group, "-X,--request", s.method, "METHOD",
             "The method. Default: GET, POST with a body, PUT with -T, HEAD\nwith -I");
    add_list(get, group, "-H,--header", t.fields, "HEADER",
             "A header, 'Name: value'; may be repeated. 'Name:' leaves out\none that would be "
             "sent, 'Name;' is an empty one. @FILE has one in\neach line; @- is standard input");
    client_.add_user_agent(group);
    add_text(get, group, "-e,--referer", t.referer, "URL", "The Referer header");
    add_text(get, group, "-r,--range", t.range, "RANGE",
             "Request only these bytes: 0-499, 500-, -500");
    add_flag(get, group, "-I,--head", s.head, "Request the headers only, and print them");
    add_flag(get, group, "-g,--globoff", t.no_globbing,
             "No patterns: {}, [] and \\ in URLs, and # in -o, are literal");
    client_.of_client(add_flag(get, group, "--lenient", client_.values().lenient,
                               "Accept what old servers send: lines that end in LF alone,\n"
                               "blanks before colons and behind the sizes of chunks"),
                      [](auto& c) -> auto& { return c.lenient; });
    client_.of_client(add_flag(get, group, "--path-as-is", client_.values().path_as_is,
                               "Send the path unchanged, with /../ and escapes"),
                      [](auto& c) -> auto& { return c.path_as_is; });
    add_flag(get, group, "--compressed", t.compressed,
             "Accept gzip, deflate, brotli and zstd (the default)");
    add_flag(get, group, "--no-compressed", t.no_compressed, "Accept no compression");
}

void get_options::add_data() {
    CLI::App& get = *command_;
    get_settings& s = texts_->settings;
    using kind = body_text::kind;
    constexpr const char* group = "Request body";
    bodies(get, group, "-d,--data", s.bodies, kind::data,
           "The body, as from an HTML form, or @FILE without line ends;\n"
           "@- is standard input. Several are joined by '&'");
    bodies(get, group, "--data-raw", s.bodies, kind::raw, "Like --data, but @ has no meaning");
    bodies(get, group, "--data-binary", s.bodies, kind::binary,
           "Like --data, but @FILE is sent unchanged");
    bodies(get, group, "--data-urlencode", s.bodies, kind::encoded,
           "Like --data, percent-encoded: 'name=content', 'content',\n"
           "'=content', '@FILE' or 'name@FILE'");
    bodies(get, group, "--json", s.bodies, kind::json,
           "A JSON body, or @FILE; also sends Accept: application/json");
    add_list(get, group, "-F,--form", s.parts, "PART",
             "A part of multipart/form-data: name=value, name=<FILE,\n"
             "name=@FILE; optionally ;type=image/png, ;filename=a.png.\n"
             "Quotes delimit: 'name=\"a;b\"', 'name=@\"a;b.png\"'");
    add_flag(get, group, "-G,--get", s.data_in_url, "Append the data to the query of the URL");
    add_list(get, group, "-T,--upload-file", s.uploads, "FILE",
             "Upload FILE with PUT; '-' is standard input. The file name\n"
             "is appended to a URL that ends with '/'. The n-th FILE is\n"
             "for the n-th URL; '{a,b}' and '[1-9]' stand for several");
}

void get_options::add_credentials() {
    constexpr const char* group = "Authentication and cookies";
    client_.add_credentials(group);
    texts& t = *texts_;
    add_list(*command_, group, "-b,--cookie", t.cookies, "FILE",
             "Send the cookies of a file (cookies.txt), '-' is standard\n"
             "input; or 'name=value; ...'. '' only keeps received ones.\n"
             "May be repeated");
    add_text(*command_, group, "-c,--cookie-jar", t.settings.cookie_jar, "FILE",
             "Write all cookies to FILE at the end; '-' is standard output");
}

void get_options::add_limits() {
    CLI::App& get = *command_;
    texts& t = *texts_;
    get_settings& s = t.settings;
    constexpr const char* group = "Redirects, timeouts and retries";
    add_flag(get, group, "-L,--location", t.location, "Follow redirects");
    add_number(get, group, "--max-redirs", t.redirects, "N", 0U, 1000U,
               "The most redirects to follow. Default: 50");
    add_number(get, group, "-m,--max-time", t.total, "SECONDS", 0.0, 1e7,
               "Time limit for each URL. Default: none");
    client_.add_connect_timeout(group);
    client_.of_client(
        add_number(get, group, "--retry", client_.values().retry.retries, "N", 0U, 1000U,
                   "Retries, where that is safe. A download resumes where it\n"
                   "broke off. Default: 0"),
        [](auto& c) -> auto& { return c.retry.retries; });
    add_number(get, group, "--retry-delay", t.retry_delay, "SECONDS", 0.0, 3600.0,
               "Delay before each retry. Default: 0.1 for the first, and\ntwice as long for each "
               "further one, up to 10 minutes");
    add_text(get, group, "--limit-rate", t.rate, "RATE",
             "The most bytes a second, each way: 500k, 2M. Default: no\n"
             "limit");
    add_flag(get, group, "-Z", t.all_at_once, "Transfer up to 50 URLs at a time");
    add_number(get, group, "--parallel,--parallel-max", s.parallel, "N", 1U, 1000U,
               "Transfer N URLs at a time. Default: 1");
}

void get_options::add_output() {
    CLI::App& get = *command_;
    texts& t = *texts_;
    get_settings& s = t.settings;
    constexpr const char* group = "Output";
    add_list(get, group, "-o,--output", s.outputs, "FILE",
             "Write the response to FILE; '-' is standard output. The n-th\n"
             "is for the n-th URL. #1 is the value of its first pattern");
    add_flag(get, group, "-O,--remote-name", s.name_from_url,
             "Write to a file named as in the URL. Default for several URLs");
    not_empty(add_text(get, group, "-C,--continue-at", t.resume_at, "BYTE",
                       "Resume at this byte; '-' is the end of FILE.part, or else of\n"
                       "FILE. Starts over, but not at a BYTE, if the server sends\n"
                       "other content whole"));
    add_flag(get, group, "--continue", t.resume, "Resume where FILE.part ends, like -C -");
    add_list(get, group, "--sha256", s.checksums, "HEX",
             "The expected checksum of the content; the n-th is for the\nn-th URL");
    add_flag(get, group, "-i,--include", s.include_head,
             "Print the response headers too, with -L those of each redirect");
    add_flag(get, group, "-f,--fail", s.fail, "Fail if the status is 400 or above");
}

void get_options::add_report() {
    CLI::App& get = *command_;
    texts& t = *texts_;
    get_settings& s = t.settings;
    constexpr const char* group = "Reports";
    add_flag(get, group, "-s,--silent", s.silent, "Print no progress and no errors");
    add_flag(get, group, "-S,--show-error", s.show_error, "Print errors even with -s");
    add_flag(get, group, "--no-progress,--no-progress-meter", s.no_progress,
             "No progress bars: a line for each file, as without a terminal");
    client_.add_verbose(group);
    add_flag(get, group, "--timing", s.timing, "Print the time of each part of a transfer");
}

get_options::~get_options() = default;

bool get_options::chosen() const {
    return command_->parsed();
}

}  // namespace coracle::tool
