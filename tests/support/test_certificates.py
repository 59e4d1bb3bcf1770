"""An authority for a test, and certificates that it vouches for, made by openssl(1)."""

import os

from server_process import need, run

OPENSSL = need("openssl")
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    def __init__(self, folder, name="Test CA"):
        self.folder = str(folder)
        self.name = name
        self.key, self.pem = self.path("ca.key"), self.path("ca.pem")
        run([OPENSSL, "req", "-x509", *CURVE, "-keyout", self.key, "-out", self.pem, "-days", "2",
             "-subj", f"/CN={name}"])

    def path(self, name):
        return os.path.join(self.folder, f"{self.name.replace(' ', '_')}-{name}")

    def issue(self, name, alternatives, days="2"):
        """The paths of a certificate and its key."""
        key, request, pem = (self.path(f"{name}.{kind}") for kind in ("key", "csr", "pem"))
        extensions = self.path(f"{name}.ext")
        with open(extensions, "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={alternatives}\n"
                       "extendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n")
        run([OPENSSL, "req", *CURVE, "-keyout", key, "-out", request, "-subj", f"/CN={name}"])
        run([OPENSSL, "x509", "-req", "-in", request, "-CA", self.pem, "-CAkey", self.key,
             "-CAcreateserial", "-days", days, "-out", pem, "-extfile", extensions])
        return pem, key
