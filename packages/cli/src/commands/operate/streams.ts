import type { StreamFormat, StreamInput, StreamTargetInput } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { type Command, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";

interface AddOptions extends ServiceOptions {
  readonly format: StreamFormat;
  readonly file: boolean;
  readonly endpoint?: string;
  readonly region?: string;
  readonly bucket?: string;
  readonly prefix?: string;
  readonly accessKeyId?: string;
  readonly from?: string;
}

const secret_variable = "AWS_SECRET_ACCESS_KEY";

const add_help = `
The secret access key comes from the variable ${secret_variable}, so that no process list shows it.

Examples:
  $ ${secret_variable}=… countersign streams add siem --format ocsf --endpoint https://s3.eu-central-1.amazonaws.com \\
      --region eu-central-1 --bucket acme-audit --prefix countersign --access-key-id AKIA…
  $ countersign streams add archive --file --from 2026-01-01T00:00:00Z`;

export function addStreams(program: Command, terminal: Terminal): void {
  const streams = program
    .command("streams")
    .description("streams of the audit trail to stores, for a SIEM or an archive");
  streams
    .command("list")
    .description("list streams with their lag")
    .addOption(urlOption())
    .addOption(keyOption("operator key"))
    .addHelpText("after", "\nExample:\n  $ countersign streams list")
    .action((options: ServiceOptions) => list(terminal, options));
  addAdd(streams, terminal);
  streams
    .command("test <stream_id>")
    .description("write a small test object, and print what happened")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign streams test str_01K…")
    .action(async (stream_id: string, options: ServiceOptions) => {
      const { object, problem } = await answered(() => serviceClient(terminal, options).testStream(stream_id));
      if (problem !== null) throw new CommandFailed(visible(`${object} was not written: ${problem}`));
      terminal.print(visible(`wrote ${object}`));
    });
  streams
    .command("remove <stream_id>")
    .description("remove a stream; what it wrote stays")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign streams remove str_01K…")
    .action(async (stream_id: string, options: ServiceOptions) => {
      await answered(() => serviceClient(terminal, options).deleteStream(stream_id));
      terminal.print(visible(`the stream ${stream_id} is removed`));
    });
}

function addAdd(streams: Command, terminal: Terminal): void {
  streams
    .command("add <name>")
    .description("add a stream to a bucket of S3 or a compatible store, or to the directory of the service")
    .addOption(new Option("--format <format>", "jsonl or ocsf").choices(["jsonl", "ocsf"]).default("jsonl"))
    .option("--file", "write files below COUNTERSIGN_STREAM_DIR of the service", false)
    .option("--endpoint <url>", "https address of the store")
    .option("--region <region>", "region of the signature")
    .option("--bucket <bucket>", "name of the bucket")
    .option("--prefix <prefix>", "begin of each object's name")
    .option("--access-key-id <id>", "id of the access key")
    .option("--from <time>", "begin with the hour of this time; default: the current hour")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", add_help)
    .action((name: string, options: AddOptions) => add(terminal, name, options));
}

async function list(terminal: Terminal, options: ServiceOptions): Promise<void> {
  const found = await answered(() => serviceClient(terminal, options).listStreams());
  if (found.length === 0) return terminal.print("no streams");
  const rows = found.map(({ stream_id, name, format, target, active, lag_entries, lag_seconds, problem }) => {
    const place = target.kind === "file" ? "files" : `${target.endpoint}/${target.bucket}`;
    const state = problem !== null ? problem : active ? "on" : "off";
    return [
      stream_id,
      visible(name),
      format,
      `${lag_entries} entries, ${lag_seconds} s`,
      visible(place),
      visible(state),
    ];
  });
  terminal.print(formatTable([["STREAM", "NAME", "FORMAT", "LAG", "STORE", "STATE"], ...rows]));
}

async function add(terminal: Terminal, name: string, options: AddOptions): Promise<void> {
  const { format, from } = options;
  const input: StreamInput = {
    name,
    format,
    target: targetOf(terminal, options),
    ...(from === undefined ? {} : { from }),
  };
  const client: Client = serviceClient(terminal, options);
  const { stream_id } = await answered(() => client.createStream(input));
  const { object, problem } = await answered(() => client.testStream(stream_id));
  terminal.print(visible(`added the stream ${stream_id}`));
  if (problem !== null) throw new CommandFailed(visible(`a test object was not written to ${object}: ${problem}`));
}

function targetOf(terminal: Terminal, options: AddOptions): StreamTargetInput {
  const { file, endpoint, region, bucket, prefix, accessKeyId: access_key_id } = options;
  const given = { endpoint, region, bucket, prefix, access_key_id };
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (file) return { kind: "file", ...settings };
  const secret_access_key = terminal.env[secret_variable];
  if (secret_access_key === undefined || secret_access_key === "")
    throw new CommandFailed(`set ${secret_variable} to the secret access key, or give --file`);
  return { kind: "s3", ...settings, secret_access_key };
}
