/** Makes the page that verifies receipts: one file with its script and style, which loads nothing. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Rolldown } from "vite";

const folder = fileURLToPath(new URL("src/verify-page/", import.meta.url));

/** The policy allows exactly this script and this style, so a changed page does not run. */
export async function verifyPage(): Promise<string> {
  const script = (await bundled()).trim().replaceAll("</script", "<\\/script");
  const style = ["../design/tokens.css", "page.css"].map((name) => readFileSync(`${folder}${name}`, "utf8")).join("");
  const policy = `default-src 'none'; script-src ${sourceOf(script)}; style-src ${sourceOf(style)}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  const parts: Readonly<Record<string, string>> = { policy, style, script };
  return readFileSync(`${folder}page.html`, "utf8").replaceAll(
    /\{\{(\w+)\}\}/g,
    (_, name: string) => parts[name] ?? "",
  );
}

async function bundled(): Promise<string> {
  const built = (await build({
    configFile: false,
    root: folder,
    logLevel: "warn",
    resolve: { conditions: ["@countersign/source", "module", "browser", "import", "default"] },
    build: {
      target: "es2023",
      write: false,
      modulePreload: { polyfill: false },
      rolldownOptions: { input: `${folder}main.ts`, output: { format: "iife" } },
    },
  })) as Rolldown.RolldownOutput;
  const [chunk, ...others] = built.output;
  if (others.length > 0) throw new Error("the page that verifies receipts must be one script");
  return chunk.code;
}

const sourceOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
