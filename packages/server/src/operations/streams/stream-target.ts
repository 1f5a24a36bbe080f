/** The store of a stream: checks its settings and writes objects. */
import { createHash } from "node:crypto";
import type { StreamTargetInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import { AwsV4Signer } from "aws4fetch";
import { type StoredStream, streamContext, type TargetSettings } from "../../store/streams/streams.ts";
import type { Runtime } from "../runtime.ts";

export type TargetRuntime = Pick<Runtime, "clock" | "sealer" | "httpOut" | "streamFiles">;

/** Shorter than a lease. An object of 4 MiB takes this long with 0.9 Mbit/s. */
const timeout_ms = 40_000;
const answer_bytes_max = 65_536;

const nothing: TargetSettings = { endpoint: null, region: null, bucket: null, prefix: "", access_key_id: null };

const required = ["endpoint", "region", "bucket", "access_key_id"] as const;

export interface AcceptedTarget {
  readonly settings: TargetSettings;
  /** Null: a file. Undefined: the stored one stays. */
  readonly secret: string | null | undefined;
}

/**
 * Returns the settings to store. `kept_secret`: a secret may be absent. Faults: invalid_request, webhook_url_refused,
 * state_conflict (the operator set no directory).
 */
export async function acceptedTarget(
  { httpOut, streamFiles }: Pick<Runtime, "httpOut" | "streamFiles">,
  { kind, secret_access_key, ...given }: StreamTargetInput,
  kept_secret: boolean,
): Promise<AcceptedTarget> {
  if (kind === "file") {
    const [extra] = Object.keys({ ...given, ...(secret_access_key === undefined ? {} : { secret_access_key }) });
    if (extra !== undefined)
      throw faultAt("invalid_request", `/target/${extra}`, "not_allowed", "The target `file` has only its kind.");
    if (streamFiles === null)
      throw faultAt(
        "state_conflict",
        "/target/kind",
        "not_allowed",
        "This service has no directory for streams. Its operator must set COUNTERSIGN_STREAM_DIR.",
      );
    return { settings: nothing, secret: null };
  }
  for (const name of required)
    if (given[name] === undefined)
      throw faultAt("invalid_request", `/target/${name}`, "required", `The target \`s3\` needs ${name}.`);
  if (secret_access_key === undefined && !kept_secret)
    throw faultAt("invalid_request", "/target/secret_access_key", "required", "Give the secret access key.");
  const { endpoint: address = "", region = null, bucket = null, prefix = "", access_key_id = null } = given;
  const endpoint = await acceptedEndpoint(httpOut, address);
  return { settings: { endpoint, region, bucket, prefix, access_key_id }, secret: secret_access_key };
}

/** Returns the address without a slash at its end. Faults: webhook_url_refused. */
async function acceptedEndpoint(httpOut: Pick<Runtime["httpOut"], "check">, address: string): Promise<string> {
  const refuse = (message: string) => {
    const details = [{ path: "/target/endpoint", code: "not_allowed" as const, message }];
    return new Fault("webhook_url_refused", { details });
  };
  const verdict = await httpOut.check(address);
  if ("refused" in verdict) throw refuse(verdict.refused);
  const { pathname, search } = new URL(verdict.href);
  if (pathname !== "/" || search !== "")
    throw refuse("The address must have no path and no query. Give bucket and prefix.");
  return verdict.href.replace(/\/$/, "");
}

/** Writes one object of a stream. Null: the store has it. Otherwise the reason, a sentence. Never rejects. */
export type WriteObject = (name: string, bytes: Uint8Array) => Promise<string | null>;

type Target = Pick<StoredStream, "stream_id" | "target" | "settings" | "secret_sealed">;

/** `stopping` ends requests. */
export function objectWriter(
  runtime: TargetRuntime,
  org_id: string,
  stream: Target,
  stopping?: AbortSignal,
): WriteObject {
  return stream.target === "file" ? fileWriter(runtime, org_id, stream) : s3Writer(runtime, org_id, stream, stopping);
}

/** The name of an object as the store has it. */
export function objectName(org_id: string, { stream_id, target, settings }: Target, name: string): string {
  if (target === "file") return `${org_id}/${stream_id}/${name}`;
  return settings.prefix === "" ? name : `${settings.prefix}/${name}`;
}

function fileWriter({ streamFiles }: TargetRuntime, org_id: string, stream: Target): WriteObject {
  return async (name, bytes) => {
    if (streamFiles === null)
      return "This service has no directory for streams. Its operator must set COUNTERSIGN_STREAM_DIR.";
    try {
      await streamFiles.write(objectName(org_id, stream, name), bytes);
      return null;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      return `The file could not be written (${code}).`;
    }
  };
}

function s3Writer(
  { clock, sealer, httpOut }: TargetRuntime,
  org_id: string,
  stream: Target,
  stopping: AbortSignal | undefined,
): WriteObject {
  const { stream_id, settings, secret_sealed } = stream;
  const { endpoint, region, bucket, access_key_id } = settings;
  return async (name, bytes) => {
    let secretAccessKey: string;
    try {
      secretAccessKey = sealer.open(secret_sealed ?? "", streamContext(org_id, stream_id));
    } catch {
      return "The secret access key was sealed with another master key than this service has.";
    }
    const signer = new AwsV4Signer({
      method: "PUT",
      url: `${endpoint}/${bucket}/${objectName(org_id, stream, name)}`,
      headers: { "X-Amz-Content-Sha256": createHash("sha256").update(bytes).digest("hex") },
      accessKeyId: access_key_id ?? "",
      secretAccessKey,
      service: "s3",
      region: region ?? "",
      datetime: formatTimestampUs(clock.now_us()).replace(/[:-]|\.\d{6}/g, ""),
    });
    const { url, headers } = await signer.sign();
    const sent = { ...Object.fromEntries(headers), "content-type": contentType(name) };
    const terms = { timeout_ms, answer_bytes_max, method: "PUT", ...(stopping && { stopping }) } as const;
    const answered = await httpOut.ask(url.href, sent, bytes, terms);
    if ("failed" in answered) return answered.text;
    const { status, body } = answered;
    if (status === 200) return null;
    // S3 answers with XML. Its code says more than the status.
    const [, code] = /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(body.toString("utf8")) ?? [];
    return `The store answered ${status}${code === undefined ? "" : ` ${code}`}.`;
  };
}

function contentType(name: string): string {
  if (name.endsWith(".jsonl")) return "application/x-ndjson";
  return name.endsWith(".json") ? "application/json" : "text/plain; charset=utf-8";
}
