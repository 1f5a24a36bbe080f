/** The part of jstat that is used; the package has no types. */
declare module "jstat" {
  interface Inverse {
    /** Returns the value that a variable with these two parameters does not exceed with probability `p`. */
    inv(p: number, first: number, second: number): number;
  }
  interface Statistics {
    readonly beta: Inverse;
    readonly gamma: Inverse;
    /** The natural logarithm of the beta function. */
    betaln(first: number, second: number): number;
    /** The natural logarithm of the gamma function. */
    gammaln(value: number): number;
  }
  const statistics: { readonly jStat: Statistics };
  export = statistics;
}
