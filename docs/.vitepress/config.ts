/** The documentation site, served at /docs. `npm run docs` builds it. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { adaptMarkdown } from "./site-links.ts";

const docs = fileURLToPath(new URL("..", import.meta.url));

/** Returns the menu of a folder: pages of `first` in that order, then the rest by title. */
function pagesOf(folder: string, first: readonly string[] = []): { text: string; link: string }[] {
  const pages = readdirSync(`${docs}${folder}`).filter((name) => name.endsWith(".md") && name !== "index.md");
  const rank = (name: string): number => (first.indexOf(name) + first.length + 1) % (first.length + 1);
  return pages
    .map((name) => ({ name, text: titleOf(`${folder}/${name}`), link: `/${folder}/${name.slice(0, -3)}` }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.text.localeCompare(b.text))
    .map(({ text, link }) => ({ text, link }));
}

function titleOf(page: string): string {
  return /^# (.+)$/m.exec(readFileSync(`${docs}${page}`, "utf8"))?.[1]?.replaceAll("`", "") ?? page;
}

export default defineConfig({
  title: "Countersign",
  description: "Decisions about what software agents may do",
  base: "/docs/",
  cleanUrls: false,
  lastUpdated: false,
  // The build fails on dead links, except to this example address.
  ignoreDeadLinks: ["http://localhost:8080"],
  markdown: {
    config: adaptMarkdown,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  // Uses the reader's system fonts. No request goes to another host.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Tutorial", link: "/tutorial/first-agent" },
      { text: "How-to", link: "/how-to/" },
      { text: "Reference", link: "/reference/" },
      { text: "Explanation", link: "/explanation/" },
    ],
    sidebar: [
      { text: "Tutorial", items: pagesOf("tutorial", ["first-agent.md"]) },
      { text: "How-to", link: "/how-to/", items: pagesOf("how-to"), collapsed: true },
      { text: "Reference", link: "/reference/", items: pagesOf("reference"), collapsed: true },
      { text: "Explanation", link: "/explanation/", items: pagesOf("explanation"), collapsed: true },
      { text: "Evidence", link: "/evidence" },
      { text: "Compliance", link: "/compliance" },
      { text: "Decisions", items: pagesOf("decisions"), collapsed: true },
    ],
    outline: { level: [2, 3] },
  },
});
