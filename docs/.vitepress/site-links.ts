/** Makes the pages of docs/ work both in the repository and as a site. */
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";

const docs = fileURLToPath(new URL("..", import.meta.url));

/**
 * Renders `mermaid` blocks as SVG, and turns links to files outside docs/ into plain text. Throws if such a file does
 * not exist.
 */
export function adaptMarkdown(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    if (token?.info.trim() !== "mermaid") return fence?.(tokens, index, options, env, self) ?? "";
    return `<p><img alt="Diagram" src="${pictureOf(token.content)}"></p>\n`;
  };
  md.core.ruler.push("links-outside", ({ tokens, env }) => {
    for (const { children } of tokens) {
      let open = 0;
      for (const token of children ?? []) {
        const href = token.type === "link_open" ? String(token.attrGet("href")) : "";
        if (token.type === "link_open" && isOutside(href, env.path as string)) {
          token.tag = "span";
          token.attrs = null;
          token.type = "span_open";
          open += 1;
        } else if (token.type === "link_close" && open > 0) {
          token.tag = "span";
          token.type = "span_close";
          open -= 1;
        }
      }
    }
  });
}

/**
 * Returns a diagram as a `data:` image without remote fonts. Inline SVG would lose its styles. The background is white
 * for dark mode.
 */
function pictureOf(diagram: string): string {
  const svg = renderMermaidSVG(diagram, { bg: "#ffffff", fg: "#27272a" }).replaceAll(/^\s*@import[^\n]*\n/gm, "");
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
}

function isOutside(href: string, page: string): boolean {
  const [path = ""] = href.split("#", 1);
  if (path === "" || path.startsWith("/") || /^[a-z]+:/.test(path)) return false;
  const target = join(dirname(page), path);
  if (!relative(docs, target).startsWith("..") && /\.(?:md|html)$/.test(target)) return false;
  // The image is built without tests. A test of docs/compliance.md checks these links.
  if (path.endsWith(".test.ts")) return true;
  if (!existsSync(target)) throw new Error(`${relative(docs, page)}: the link to ${path} leads to no file`);
  return true;
}
