#include "manual_page.hpp"

#include <coracle/base/version.hpp>

#include <sstream>
#include <string_view>

namespace coracle::tool {
namespace {

/// Returns text that troff prints as it is.
std::string escaped(std::string_view text) {
    std::string out;
    bool begins_line = true;
    for (const char c : text) {
        if (begins_line && (c == '.' || c == '\'')) out += "\\&";
        switch (c) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '~': out += "\\(ti"; break;
            case '^': out += "\\(ha"; break;
            case '`': out += "\\(ga"; break;
            case '\'': out += "\\(aq"; break;
            default: out += c;
        }
        begins_line = c == '\n';
    }
    return out;
}

std::string upper(std::string_view text) {
    std::string out;
    for (const char c : text) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return out;
}

/// Writes paragraphs as such, and indented lines as they stand.
void write_text(std::ostringstream& out, const std::string& text) {
    std::istringstream lines(text);
    bool as_it_stands = false;
    for (std::string line; std::getline(lines, line);) {
        const bool indented = line.starts_with(' ');
        if (indented != as_it_stands && !line.empty()) {
            out << (indented ? ".nf\n" : ".fi\n");
            as_it_stands = indented;
        }
        if (line.empty()) {
            out << (as_it_stands ? "\n" : ".PP\n");
        } else {
            out << escaped(line) << '\n';
        }
    }
    if (as_it_stands) out << ".fi\n";
}

/// Writes the text after the options, in which a line that ends with a colon begins a section.
void write_footer(std::ostringstream& out, const std::string& text) {
    std::istringstream lines(text);
    std::string piece;
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with(':') && !line.starts_with(' ')) {
            write_text(out, piece);
            piece.clear();
            line.pop_back();
            out << ".SH " << escaped(upper(line)) << '\n';
        } else if (!line.empty() || !piece.empty()) {
            piece += line + '\n';
        }
    }
    write_text(out, piece);
}

void write_option(std::ostringstream& out, const option_entry& o) {
    out << ".TP\n";
    const char* between = "";
    for (const std::string& name : o.names) {
        out << between << "\\fB" << escaped(name) << "\\fR";
        between = ", ";
    }
    if (!o.value.empty()) {
        out << (o.value_is_optional ? "[=" : " ") << "\\fI" << escaped(o.value) << "\\fR";
        if (o.value_is_optional) out << ']';
    }
    out << '\n' << escaped(o.text) << '\n';
}

void write_synopsis(std::ostringstream& out, const command_entry& command) {
    out << ".SH SYNOPSIS\n\\fB" << escaped(command.name) << "\\fR";
    if (!command.options.empty()) out << " [\\fIOPTION\\fR...]";
    for (const argument_entry& a : command.arguments) {
        out << (a.required ? " \\fI" : " [\\fI") << escaped(a.name) << "\\fR";
        if (a.repeated) out << "...";
        if (!a.required) out << ']';
    }
    if (!command.commands.empty()) out << " \\fICOMMAND\\fR ...";
    out << '\n';
}

void write_options(std::ostringstream& out, const command_entry& command) {
    std::vector<std::string> groups;
    for (const option_entry& o : command.options) {
        if (groups.empty() || groups.back() != o.group) groups.push_back(o.group);
    }
    out << ".SH OPTIONS\n";
    for (const argument_entry& a : command.arguments) {
        out << ".TP\n\\fI" << escaped(a.name) << "\\fR\n" << escaped(a.text) << '\n';
    }
    for (const std::string& group : groups) {
        if (groups.size() > 1) out << ".SS " << escaped(group) << '\n';
        for (const option_entry& o : command.options) {
            if (o.group == group) write_option(out, o);
        }
    }
}

void write_see_also(std::ostringstream& out, const command_entry& command,
                    const command_entry& root) {
    out << ".SH \"SEE ALSO\"\n";
    const char* between = "";
    for (const command_entry* each : all_commands(root)) {
        if (each == &command) continue;
        out << between << "\\fB" << escaped(page_name(*each)) << "\\fR(1)";
        between = ", ";
    }
    out << '\n';
}

}  // namespace

std::string page_name(const command_entry& command) {
    std::string name = command.name;
    for (char& c : name) {
        if (c == ' ') c = '-';
    }
    return name;
}

std::string manual_page(const command_entry& command, const command_entry& root) {
    // "coracle: an HTTP server ...": the name stands before it already.
    std::string summary = command.summary();
    if (const std::size_t colon = summary.find(": "); colon != std::string::npos) {
        summary = summary.substr(colon + 2);
    }
    if (summary.ends_with('.')) summary.pop_back();
    const std::size_t end = command.about.find('\n');
    std::ostringstream out;
    out << ".TH " << escaped(upper(page_name(command))) << " 1 \"\" \"coracle " << version()
        << "\" \"User Commands\"\n.SH NAME\n"
        << escaped(page_name(command)) << " \\- " << escaped(summary) << '\n';
    write_synopsis(out, command);
    out << ".SH DESCRIPTION\n";
    write_text(out, command.summary() + '\n');
    if (end != std::string::npos) write_text(out, command.about.substr(end + 1));
    if (!command.commands.empty()) {
        out << ".SH COMMANDS\n";
        for (const command_entry& each : command.commands) {
            out << ".TP\n\\fB" << escaped(each.last_name()) << "\\fR\n"
                << escaped(each.summary()) << '\n';
        }
    }
    if (!command.options.empty()) write_options(out, command);
    write_footer(out, command.footer);
    write_see_also(out, command, root);
    return out.str();
}

}  // namespace coracle::tool
