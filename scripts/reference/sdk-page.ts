/** Writes the SDK reference from the docstrings of its exports. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { generatedPage, proseText } from "./markdown.ts";
import { adapterSections, headOf } from "./sdk-adapters.ts";

const sdk = fileURLToPath(new URL("../../packages/sdk/src/", import.meta.url));

interface Declared {
  readonly name: string;
  readonly text: string;
  readonly doc: string;
}

export function sdkPage(): string {
  const declared = new Map(
    sdkFiles()
      .flatMap(declarationsOf)
      .map((each) => [each.name, each]),
  );
  const exportsOf = (path: string) => exportedNames(path).flatMap((name) => declared.get(name) ?? []);
  const operations = sdkFiles()
    .filter((path) => path.startsWith("operations/"))
    .flatMap((path) => declarationsOf(path).filter(({ name }) => /Operations$/.test(name)));
  return generatedPage(
    "SDK",
    "the docstrings of packages/sdk",
    "For programs in TypeScript. [A whole agent](../../packages/sdk/README.md) is in the package. The client has one method for each operation " +
      "of the [API](api.md), with the same name.",
    '```ts\nimport { createClient } from "@countersign/sdk";\n\nconst countersign = createClient({ base_url: "http://127.0.0.1:8080", ' +
      "api_key: process.env.AGENT_KEY });\n```",
    ...[...exportsOf("index.ts"), ...operations].map((each) => section(each)),
    "## @countersign/sdk/verify",
    headOf(readFileSync(`${sdk}verify/index.ts`, "utf8"), "index.ts"),
    ...exportsOf("verify/index.ts").map((each) => section(each, "###")),
    ...adapterSections(sdk, (path) => declarationsOf(path).map((each) => section(each, "###"))),
  );
}

function exportedNames(path: string): string[] {
  const lists = readFileSync(`${sdk}${path}`, "utf8").matchAll(/\{([^}]*)\}/g);
  const names = Array.from(lists, ([, list = ""]) => list.split(",")).flat();
  return [...new Set(names.map((name) => name.replace("type ", "").trim()).filter((name) => name !== ""))];
}

function sdkFiles(): string[] {
  return readdirSync(sdk, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !path.includes(".test.") && !path.startsWith("testing/"))
    .sort();
}

const section = ({ name, doc, text }: Declared, heading = "##"): string =>
  [`${heading} ${name}`, proseText(doc), `\`\`\`typescript\n${text}\n\`\`\``]
    .filter((block) => block !== "")
    .join("\n\n");

/** Returns a file's exported declarations without function bodies and initial values. */
function declarationsOf(path: string): Declared[] {
  const source = readFileSync(`${sdk}${path}`, "utf8").replaceAll(/^ *\/\/ biome-ignore.*\n/gm, "");
  const { program, comments } = parseSync(path, source);
  return program.body.flatMap((node): Declared[] => {
    if (node.type !== "ExportNamedDeclaration" || node.declaration === null) return [];
    const { declaration } = node;
    const comment = comments.findLast(({ end }) => end <= node.start && source.slice(end, node.start).trim() === "");
    const doc = (comment?.value ?? "").replaceAll(/^\s*\*+ ?/gm, "").replaceAll(/\s*\n\s*/g, " ");
    if (declaration.type === "FunctionDeclaration") {
      const text = source.slice(declaration.start, declaration.body?.start ?? declaration.end).trim();
      return declaration.id === null ? [] : [{ name: declaration.id.name, text: `${text};`, doc }];
    }
    if (declaration.type === "ClassDeclaration") {
      const text = `${source.slice(declaration.start, declaration.body.start).trim()} { … }`;
      return declaration.id === null ? [] : [{ name: declaration.id.name, text, doc }];
    }
    if (declaration.type !== "TSInterfaceDeclaration" && declaration.type !== "TSTypeAliasDeclaration") return [];
    return [{ name: declaration.id.name, text: source.slice(declaration.start, declaration.end), doc }];
  });
}
