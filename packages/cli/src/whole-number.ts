import { InvalidArgumentError } from "commander";

/** Returns a reader for an option's whole number within these bounds. */
export function wholeFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`give a whole number from ${min} to ${max}.`);
  };
}
