/** Created with openssl once a process. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** In PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** `expired` ended in 2020. */
export interface Certificates {
  readonly ca: string;
  /** For receiver.test, slow.test, *.receivers.test and 127.0.0.1. */
  readonly good: Certificate;
  readonly wrong_name: Certificate;
  readonly expired: Certificate;
  readonly self_signed: Certificate;
}

/** Of another authority. */
export interface StrangeCertificates {
  readonly ca: string;
  readonly good: Certificate;
  /** Sent with its authority's certificate. */
  readonly with_authority: Certificate;
  /** Valid from 2090 on. */
  readonly not_yet_valid: Certificate;
}

interface Authority {
  readonly ca: string;
  sign(name: string, san: string, dates: readonly string[]): Certificate;
  selfSigned(): Certificate;
}

const days = ["-days", "30"];
let made: Certificates | undefined;
let strange: StrangeCertificates | undefined;

export function testCertificates(): Certificates {
  made ??= withAuthority(({ ca, sign, selfSigned }) => ({
    ca,
    good: sign("good", "DNS:receiver.test,DNS:slow.test,DNS:*.receivers.test,IP:127.0.0.1", days),
    wrong_name: sign("other", "DNS:other.test", days),
    expired: sign("expired", "DNS:receiver.test", ["-startdate", "20190101000000Z", "-enddate", "20200101000000Z"]),
    self_signed: selfSigned(),
  }));
  return made;
}

export function strangeCertificates(): StrangeCertificates {
  strange ??= withAuthority(({ ca, sign }) => {
    const good = sign("good", "DNS:receiver.test", days);
    const late = ["-startdate", "20900101000000Z", "-enddate", "20910101000000Z"];
    const with_authority = { cert: good.cert + ca, key: good.key };
    return { ca, good, with_authority, not_yet_valid: sign("late", "DNS:receiver.test", late) };
  });
  return strange;
}

function withAuthority<T>(work: (authority: Authority) => T): T {
  const dir = mkdtempSync(join(tmpdir(), "certificates-"));
  const path = (name: string) => join(dir, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const read = (name: string): Certificate => ({
    cert: readFileSync(path(`${name}.pem`), "utf8"),
    key: readFileSync(path(`${name}.key`), "utf8"),
  });
  function sign(name: string, san: string, dates: readonly string[]): Certificate {
    openssl("req", ...newKey, "-keyout", path(`${name}.key`), "-out", path(`${name}.csr`), "-subj", `/CN=${name}`);
    writeFileSync(path("ext"), `subjectAltName=${san}`);
    writeFileSync(path("index"), "");
    const config = `[ca]\ndefault_ca=d\n[d]\ndatabase=${path("index")}\nnew_certs_dir=${dir}\nserial=${path("serial")}\nunique_subject=no\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n`;
    writeFileSync(path("config"), config);
    const authority = ["-cert", path("ca.pem"), "-keyfile", path("ca.key"), "-rand_serial", "-extfile", path("ext")];
    openssl(
      "ca",
      "-batch",
      "-config",
      path("config"),
      ...authority,
      ...dates,
      "-in",
      path(`${name}.csr`),
      "-out",
      path(`${name}.pem`),
      "-notext",
    );
    return read(name);
  }
  try {
    openssl(
      "req",
      "-x509",
      ...newKey,
      "-keyout",
      path("ca.key"),
      "-out",
      path("ca.pem"),
      "-subj",
      "/CN=Test authority",
      ...days,
    );
    return work({
      ca: readFileSync(path("ca.pem"), "utf8"),
      sign,
      selfSigned() {
        const made_by_itself = ["req", "-x509", ...newKey, "-keyout", path("self.key"), "-out", path("self.pem")];
        openssl(...made_by_itself, "-subj", "/CN=self", "-addext", "subjectAltName=DNS:receiver.test", ...days);
        return read("self");
      },
    });
  } finally {
    rmSync(dir, { recursive: true });
  }
}
