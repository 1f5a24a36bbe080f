/**
 * USPS two-letter codes for `recipient_state`: states, DC, territories, freely associated states, military "states".
 * Source: USPS Publication 28, Appendix B.
 */
export const usStateCodes = [
  ...["AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY"],
  ...["LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND"],
  ...["OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY"],
  "DC",
  ...["AS", "GU", "MP", "PR", "VI", "FM", "MH", "PW"],
  ...["AA", "AE", "AP"],
] as const;
