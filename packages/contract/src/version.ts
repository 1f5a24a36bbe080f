/** The same as in every package.json (a test compares them). */
export const product_version = "0.1.0";
