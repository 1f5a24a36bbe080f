/**
 * Counts what a person does with the keyboard and the pointer to finish a job. A click, a key, a chord such as Ctrl+Enter
 * and a paste count as one each; typed text counts as one for each letter.
 */
import type { Locator, Page } from "playwright-core";

export function counted(page: Page) {
  let actions = 0;
  return {
    async press(key: string) {
      actions += 1;
      await page.keyboard.press(key);
    },
    async click(what: Locator) {
      actions += 1;
      await what.click();
    },
    /** A function pastes where `insertText` cannot, such as into the policy editor. */
    async paste(text: string | (() => Promise<void>)) {
      actions += 1;
      await (typeof text === "string" ? page.keyboard.insertText(text) : text());
    },
    count: () => actions,
  };
}
