/** Where the keyboard is, which is what a screen reader reads. */

/** Whether what had the focus is gone: a screen reader would begin again at the top of the page. */
export function focusIsLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
