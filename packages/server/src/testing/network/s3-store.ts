/**
 * A store with the part of the S3 API that streams use. It verifies each signature with the signer of AWS's own SDK, the
 * hash of the body, and the time. `s3rver` is no alternative, because it does not verify signatures of version 4.
 */
import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { SignatureV4 } from "@smithy/signature-v4";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { testCertificates } from "./certificates.ts";

export const s3Settings = {
  region: "eu-central-1",
  bucket: "audit",
  access_key_id: "AKIAIOSFODNN7EXAMPLE",
  secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
} as const;

/** Null: the store does the usual. An object: it refuses the request. */
type S3Fault = null | { readonly status: number; readonly code: string } | "stores_and_breaks" | "hangs";

export interface S3Store {
  readonly endpoint: string;
  /** By name, without the bucket. */
  readonly objects: Map<string, Buffer>;
  /** Names of all requests. */
  readonly asked: string[];
  fault: (name: string) => S3Fault;
}

const skew_ms_max = 15 * 60_000;

/**
 * Runs until the file's tests are done. `now_ms`: the store's clock. `tls`: by the name that `resolveToLoopback`
 * resolves, with a certificate of the test's authority.
 */
export async function s3Store({
  now_ms = Date.now,
  tls = false,
}: {
  readonly now_ms?: () => number;
  readonly tls?: boolean;
} = {}): Promise<S3Store> {
  const objects = new Map<string, Buffer>();
  const asked: string[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => void take(request, response, Buffer.concat(chunks)));
  };
  const server = tls ? createTlsServer(testCertificates().good, listener) : createServer(listener);
  const store = { endpoint: "", objects, asked, fault: (): S3Fault => null };

  async function take(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const path = request.url ?? "";
    const name = path.replace(`/${s3Settings.bucket}/`, "");
    asked.push(name);
    const fault: S3Fault = (store as S3Store).fault(name);
    if (fault === "hangs") return;
    const refused =
      typeof fault === "object" && fault !== null ? fault : await refusalOf(request, path, body, now_ms());
    if (refused !== null) {
      const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${refused.code}</Code><Message>no</Message></Error>`;
      response.writeHead(refused.status, { "content-type": "application/xml" }).end(xml);
      return;
    }
    objects.set(name, body);
    if (fault === "stores_and_breaks") response.destroy();
    else response.writeHead(200, { etag: '"x"' }).end();
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  whenFileIsDone(async () => {
    server.closeAllConnections();
    server.close();
  });
  store.endpoint = `${tls ? "https://receiver.test" : "http://127.0.0.1"}:${(server.address() as AddressInfo).port}`;
  return store;
}

/** Null: the request is as S3 accepts it. */
async function refusalOf(
  request: IncomingMessage,
  path: string,
  body: Buffer,
  now_ms: number,
): Promise<{ readonly status: number; readonly code: string } | null> {
  const { authorization = "" } = request.headers;
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  if (parts === null) return { status: 400, code: "AuthorizationHeaderMalformed" };
  const [, key_id, region, names = ""] = parts;
  if (key_id !== s3Settings.access_key_id) return { status: 403, code: "InvalidAccessKeyId" };
  if (region !== s3Settings.region) return { status: 400, code: "AuthorizationHeaderMalformed" };
  const signed = names.split(";");
  for (const needed of ["host", "x-amz-content-sha256", "x-amz-date"])
    if (!signed.includes(needed)) return { status: 403, code: "AccessDenied" };
  const at = timeOf(String(request.headers["x-amz-date"]));
  if (Math.abs(at.getTime() - now_ms) > skew_ms_max) return { status: 403, code: "RequestTimeTooSkewed" };
  const headers = Object.fromEntries(signed.map((name) => [name, String(request.headers[name])]));
  const expected = await signer().sign(
    { method: request.method ?? "", protocol: "http:", hostname: "127.0.0.1", path, headers, query: {} },
    { signingDate: at },
  );
  if (expected.headers["authorization"] !== authorization) return { status: 403, code: "SignatureDoesNotMatch" };
  const hash = createHash("sha256").update(body).digest("hex");
  if (hash !== headers["x-amz-content-sha256"]) return { status: 400, code: "XAmzContentSHA256Mismatch" };
  if (request.method !== "PUT") return { status: 405, code: "MethodNotAllowed" };
  return path.startsWith(`/${s3Settings.bucket}/`) ? null : { status: 404, code: "NoSuchBucket" };
}

function signer(): SignatureV4 {
  const { region, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = s3Settings;
  return new SignatureV4({
    service: "s3",
    region,
    credentials: { accessKeyId, secretAccessKey },
    sha256: NodeSha256 as never,
    uriEscapePath: false,
  });
}

class NodeSha256 {
  readonly #hash;
  constructor(key?: string | Uint8Array) {
    this.#hash = key === undefined ? createHash("sha256") : createHmac("sha256", key);
  }
  update(data: Uint8Array): void {
    this.#hash.update(data);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

function timeOf(text: string): Date {
  return new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}
