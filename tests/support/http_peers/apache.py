"""Apache httpd, from the package apache2-bin: the program and its modules without a service."""

import hashlib

from .process import PASSWORD, USER, ConfiguredPeer, find, is_root

REALM = "a realm"
MODULES = ["mpm_event", "authz_core", "authz_user", "authn_core", "authn_file", "auth_basic",
           "auth_digest", "alias", "mime", "deflate", "brotli", "filter", "headers", "env",
           "setenvif", "ratelimit"]
CONFIG = """
ServerRoot {directory}
ServerName localhost
PidFile {directory}/httpd.pid
DefaultRuntimeDir {directory}
Listen 127.0.0.1:{port}
{modules}
{user}
StartServers 1
ServerLimit 2
ThreadsPerChild 16
MaxRequestWorkers 32
ErrorLog "|/bin/cat"
LogLevel notice
DocumentRoot {directory}/www
TypesConfig /dev/null
AddType text/plain .txt
AddType application/octet-stream .bin
KeepAliveTimeout 30
{redirects}
Redirect 302 /loop /loop
Alias /basic {directory}/www/hello
Alias /digest {directory}/www/hello
Alias /drip {directory}/www/text.txt
Alias /br {directory}/www/text.txt
Alias /cookies {directory}/www/hello
Alias /cookie-wanted {directory}/www/hello
Alias /http10 {directory}/www/hello
Alias /no-keep-alive {directory}/www/hello
<Directory {directory}/www>
    Require all granted
</Directory>
<Location /text.txt>
    SetOutputFilter DEFLATE
</Location>
<Location /br>
    SetOutputFilter BROTLI_COMPRESS
</Location>
<Location /cookies>
    Header always set Set-Cookie "flavour=oat; Path=/"
</Location>
<Location /cookie-wanted>
    Require expr %{{HTTP_COOKIE}} == 'flavour=oat'
</Location>
<Location /basic>
    AuthType Basic
    AuthName "{realm}"
    AuthUserFile {directory}/users
    Require valid-user
</Location>
<Location /digest>
    AuthType Digest
    AuthName "{realm}"
    AuthDigestDomain /digest
    AuthDigestProvider file
    AuthUserFile {directory}/digests
    Require valid-user
</Location>
<Location /drip>
    SetOutputFilter RATE_LIMIT
    SetEnv rate-limit 60
</Location>
SetEnvIf Request_URI ^/http10$ downgrade-1.0 force-response-1.0 nokeepalive
SetEnvIf Request_URI ^/no-keep-alive$ nokeepalive
"""


def digest_of(text):
    return hashlib.md5(text.encode()).hexdigest()


def htpasswd_of(text):
    import base64
    return "{SHA}" + base64.b64encode(hashlib.sha1(text.encode()).digest()).decode()


class Apache(ConfiguredPeer):
    PATHS = {
        "hello": "/hello",
        **{f"redirect_{s}": f"/redirect{s}" for s in (301, 302, 303, 307, 308)},
        "redirect_loop": "/loop",
        "gzip": "/text.txt",
        "br": "/br",
        "file": "/file.bin",
        "cookies": "/cookies",
        "cookie_wanted": "/cookie-wanted",
        "basic": "/basic",
        "digest": "/digest",
        "drip": "/drip",
        "http10": "/http10",
        "no_keep_alive": "/no-keep-alive",
    }

    def __init__(self):
        program = find("apache2", "apache2-bin")

        def command(directory, port):
            (directory / "users").write_text(f"{USER}:{htpasswd_of(PASSWORD)}\n")
            secret = digest_of(f"{USER}:{REALM}:{PASSWORD}")
            (directory / "digests").write_text(f"{USER}:{REALM}:{secret}\n")
            folder = "/usr/lib/apache2/modules"
            (directory / "httpd.conf").write_text(CONFIG.format(
                directory=directory, port=port, realm=REALM,
                user="User www-data\nGroup www-data" if is_root() else "",
                modules="\n".join(f"LoadModule {m}_module {folder}/mod_{m}.so" for m in MODULES),
                redirects="\n".join(f"Redirect {s} /redirect{s} /hello"
                                    for s in (301, 302, 303, 307, 308))))
            return [program, "-f", directory / "httpd.conf", "-d", directory, "-D", "FOREGROUND"]

        super().__init__(command, ready="resuming normal operations")
