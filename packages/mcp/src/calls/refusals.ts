/** Texts about requests that the governor refuses without a decision. */

export const tooManyDigits = (path: string): string =>
  `Nothing was done: the number at ${path} of the arguments has more digits than a number keeps, and would be rounded. Send it as a text.`;

export const twins =
  "Nothing was done: two names in one object of the arguments differ only in case, and servers may treat them as one. Send only one of them.";

export const not_written =
  "The call was made, perhaps with changed arguments, but its result cannot be passed on: it is too large or nested too deep.";

export const too_deep = "This is nested too deep, or too large.";
