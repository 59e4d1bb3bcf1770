#include "reference_options.hpp"

#include "command_tree.hpp"
#include "completion.hpp"
#include "manual_page.hpp"

#include <cstdio>
#include <fstream>

namespace coracle::tool {
namespace {

constexpr const char* completion_about = R"(Print the completion of this program for a shell.

Packages install it; by hand:
  bash   coracle completion bash > ~/.local/share/bash-completion/completions/coracle
  zsh    coracle completion zsh > ~/.zfunc/_coracle     (with ~/.zfunc in fpath)
  fish   coracle completion fish > ~/.config/fish/completions/coracle.fish
)";

constexpr const char* manual_about = R"(Write the manual pages of all commands into a directory.
)";

}  // namespace

reference_options::reference_options(CLI::App& app)
    : app_(&app), completion_(app.add_subcommand("completion", completion_about)),
      manual_(app.add_subcommand("manual", manual_about)) {
    completion_->set_help_flag("-h,--help", "Print this help and exit");
    completion_->footer("");
    completion_->add_option("SHELL", shell_, "bash, zsh or fish")
        ->type_name("")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
    manual_->group("");
    manual_->footer("");
    manual_->set_help_flag("-h,--help", "Print this help and exit");
    manual_->add_option("DIR", folder_, "Where the pages are written")->type_name("")->required();
}

int reference_options::run() const {
    const command_entry root = read_commands(*app_);
    if (completion_->parsed()) {
        const std::string text = shell_ == "bash"  ? bash_completion(root)
                                 : shell_ == "zsh" ? zsh_completion(root)
                                                   : fish_completion(root);
        std::fputs(text.c_str(), stdout);
        return 0;
    }
    for (const command_entry* each : all_commands(root)) {
        const std::string path = folder_ + '/' + page_name(*each) + ".1";
        std::ofstream file(path);
        file << manual_page(*each, root);
        if (!file.flush()) {
            std::fprintf(stderr, "coracle: %s cannot be written\n", path.c_str());
            return 1;
        }
    }
    return 0;
}

}  // namespace coracle::tool
