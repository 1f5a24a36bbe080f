import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../packages/console/src");
const here = join(source, "design");

interface Declaration {
  readonly at: string;
  readonly property: string;
  readonly value: string;
}

/** Returns the declarations of all style sheets except those of the tokens. */
function declarations(): Declaration[] {
  return readdirSync(here)
    .filter((name) => name.endsWith(".css") && name !== "tokens.css")
    .flatMap((name) =>
      readFileSync(join(here, name), "utf8")
        .split("\n")
        .flatMap((line, index) => {
          const [, property, value] = /^\s+([a-z-]+): (.+);$/.exec(line) ?? [];
          return property === undefined || value === undefined ? [] : [{ at: `${name}:${index + 1}`, property, value }];
        }),
    );
}

const wrong = (properties: RegExp, allowed: RegExp) =>
  declarations()
    .filter(({ property, value }) => properties.test(property) && !allowed.test(value))
    .map(({ at, property, value }) => `${at} ${property}: ${value}`);

test("texts have the sizes and weights of the tokens; code is a share of the text around it", () => {
  expect(declarations().length).toBeGreaterThan(300);
  expect(wrong(/^font-size$/, /^var\(--(?:tiny|small|body|large|title|number)\)$|^0?\.\d+em$/)).toEqual([]);
  expect(wrong(/^font-weight$/, /^(?:var\(--(?:medium|strong)\)|400)$/)).toEqual([]);
  expect(wrong(/^font$/, /inherit|var\(--(?:tiny|small|body|large)\)/)).toEqual([]);
});

test("spaces are steps of the grid", () => {
  const step = String.raw`(?:0|auto|1px|-1px|var\(--(?:s\d|cell|bar)\)|calc\(.*var\(--.*\)|clamp\(var\(--.*\))`;
  const steps = new RegExp(`^${step}(?: ${step})*$`);
  expect(wrong(/^(?:gap|padding|margin)(?:-[a-z-]+)?$/, steps)).toEqual([]);
});

test("colours are tokens", () => {
  expect(wrong(/colou?r|background|fill|stroke/, /^(?!.*#[0-9a-f]{3,8}\b).*$/)).toEqual([]);
});

test("pages have no styles of their own, except lengths that show a number", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".tsx"));
  const own = files.flatMap((name) =>
    [...readFileSync(join(source, name), "utf8").matchAll(/style=\{\{([^}]*\}?[^}]*)\}\}/g)]
      .map(([, style = ""]) => style.trim())
      .filter((style) => !/^(?:width|left): `\$\{/.test(style))
      .map((style) => `${name}: ${style}`),
  );
  expect(own).toEqual([]);
});

/** JSX drops the line break between a text and an element, so the text needs a space. `strong` may be a line of its own. */
test("a text in braces has a space between itself and the element beside it", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".tsx"));
  const inline = "(?:Data|Given|Time|ExactTime|Who|Link|span|code|em)";
  const before = new RegExp(`\\{["\`][^"\`\\n]*[\\w.,:;?!)}]["\`]\\}\\n\\s*<(?:${inline}|strong)\\b`, "g");
  const after = new RegExp(`(?:<${inline}\\b[^\\n]*/>|</${inline}>)\\n\\s*\\{["\`][\\w($]`, "g");
  const glued = files.flatMap((name) => {
    const text = readFileSync(join(source, name), "utf8");
    return [...text.matchAll(before), ...text.matchAll(after)].map(([found]) => `${name}: ${found}`);
  });
  expect(files.length).toBeGreaterThan(150);
  expect(glued).toEqual([]);
});
