const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

export function moneyText(usd: number): string {
  return dollars.format(usd);
}
