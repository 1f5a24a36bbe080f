/** The calls and other requests that the clients make to each server. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { servers } from "../programs.ts";

type Given = Readonly<Record<string, unknown>>;
type ToolCall = readonly [name: string, given: Given, label?: string];

export interface Subject {
  /** Returns the server's command, with its files as at the start. */
  prepare(): { readonly command: readonly string[]; readonly clean: () => void };
  readonly calls: readonly ToolCall[];
  /** Each must be listed by the server. */
  readonly prompts: readonly { readonly name: string; readonly arguments?: Readonly<Record<string, string>> }[];
  readonly completion: readonly [prompt: string, argument: string] | null;
  /** A tool that never answers. */
  readonly hanging: string | null;
  /** A request that the server sends by itself, some time after it is connected. The calls wait for it. */
  readonly asks_first: string | null;
}

const nothing = () => undefined;

/** Calls that a server refuses, for every server. */
const refused: readonly ToolCall[] = [["no-such-tool", {}]];

const rounds = ["elicitation", "sampling", "list_roots", "request_state", "multiple_inputs", "multi_round"];

const fixtures: Subject = {
  prepare: () => ({ command: servers.fixtures, clean: nothing }),
  calls: [
    ...[
      ...["simple_text", "image_content", "audio_content", "embedded_resource", "multiple_content_types"],
      ...["tool_with_logging", "tool_with_progress", "error_handling", "trigger_tool_change"],
      ...["elicitation_sep1034_defaults", "elicitation_sep1330_enums"],
      ...rounds.map((name) => `input_required_result_${name}`),
    ].map((name): ToolCall => [`test_${name}`, {}]),
    ["test_sampling", { prompt: "What is the capital of France?" }],
    ["test_elicitation", { message: "Who are you?" }],
    ["test_elicitation", { message: 7 }],
    ["json_schema_2020_12_tool", { name: "Ann", contactMethod: "phone", phone: "1" }],
    ["json_schema_2020_12_tool", { name: "Ann", contactMethod: "phone" }],
    ["test_x_mcp_header", { region: "höchst \u{1f600} \u2028", level: -0.5 }],
    ...refused,
  ],
  prompts: [
    { name: "test_simple_prompt" },
    { name: "test_prompt_with_image" },
    { name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } },
    { name: "test_prompt_with_arguments", arguments: { arg1: "a" } },
    { name: "test_prompt_with_embedded_resource", arguments: { resourceUri: "test://static-text" } },
    { name: "test_input_required_result_prompt" },
  ],
  completion: ["test_prompt_with_arguments", "arg1"],
  hanging: null,
  asks_first: null,
};

const everything: Subject = {
  prepare: () => ({ command: servers.everything, clean: nothing }),
  calls: [
    ["echo", { message: "grüße \u{1f600}" }],
    ["echo", {}],
    ["get-sum", { a: 1.5, b: -2 }],
    ["get-annotated-message", { messageType: "error", includeImage: true }],
    ["get-env", {}],
    ["get-resource-links", { count: 2 }],
    ["get-resource-reference", { resourceType: "Text", resourceId: 1 }],
    ["get-structured-content", { location: "Chicago" }],
    ["get-tiny-image", {}],
    ["gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" }],
    ["trigger-long-running-operation", { duration: 0.1, steps: 2 }],
    ["get-roots-list", {}],
    ["trigger-elicitation-request", {}],
    ["trigger-sampling-request", { prompt: "hello", maxTokens: 10 }],
    ["simulate-research-query", { topic: "tasks" }],
    ...refused,
  ],
  prompts: [
    { name: "simple-prompt" },
    { name: "args-prompt", arguments: { city: "Oslo" } },
    { name: "resource-prompt", arguments: { resourceType: "Text", resourceId: "1" } },
    { name: "completable-prompt" },
  ],
  completion: ["completable-prompt", "department"],
  hanging: null,
  asks_first: "roots/list",
};

/** The same folder in each run, because its name is in the answers. */
const folder = join(tmpdir(), `countersign-conformance-${process.pid}`);
const at = (name: string) => join(folder, name);

const filesystem: Subject = {
  prepare() {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(at("inner"), { recursive: true });
    writeFileSync(at("one.txt"), "first\nsecond\nthird\n");
    writeFileSync(at("inner/two.md"), "# Two\n");
    const clean = () => rmSync(folder, { recursive: true, force: true });
    return { command: [...servers.filesystem, folder], clean };
  },
  calls: [
    ["list_allowed_directories", {}],
    ["read_text_file", { path: at("one.txt"), head: 2 }],
    ["read_text_file", { path: "/etc/hostname" }],
    ["read_multiple_files", { paths: [at("one.txt"), at("none.txt")] }],
    ["write_file", { path: at("new.txt"), content: "a\r\nb\t\u{1f600}" }],
    ["read_text_file", { path: at("new.txt") }],
    ["edit_file", { path: at("one.txt"), edits: [{ oldText: "second", newText: "2nd" }], dryRun: true }],
    ["edit_file", { path: at("one.txt"), edits: [{ oldText: "second", newText: "2nd" }] }],
    ["create_directory", { path: at("inner/deep") }],
    ["list_directory", { path: folder }],
    ["list_directory_with_sizes", { path: folder, sortBy: "size" }],
    ["directory_tree", { path: folder }],
    ["move_file", { source: at("new.txt"), destination: at("inner/moved.txt") }],
    ["search_files", { path: folder, pattern: "**/*.txt" }],
    ["get_file_info", { path: at("one.txt") }],
    ["read_media_file", { path: at("inner/two.md") }],
    ["write_file", { path: at("nul.txt"), content: "\u0000" }, "with NUL"],
    ...refused,
  ],
  prompts: [],
  completion: null,
  hanging: null,
  asks_first: null,
};

const bank: Subject = {
  prepare() {
    const own = mkdtempSync(join(tmpdir(), "countersign-conformance-"));
    return {
      command: [...servers.bank, join(own, "done")],
      clean: () => rmSync(own, { recursive: true, force: true }),
    };
  },
  calls: [
    ["send_money", { amount_usd: 20, to: "ann" }],
    ["send_money", { amount_usd: 5, to: "nobody" }],
    ["send_money", { amount_usd: "5" }],
    ["balance", {}],
    ...refused,
  ],
  prompts: [],
  completion: null,
  hanging: "hang",
  asks_first: null,
};

export const subjects = { fixtures, everything, filesystem, bank } satisfies Record<string, Subject>;
