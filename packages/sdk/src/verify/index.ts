/** Verifies receipts offline. Needs WebCrypto with Ed25519 and nothing else: Node.js 20, or a browser of 2025. */
export { canVerify, Ed25519Missing } from "./note.ts";
export type { VerifiedEntry } from "./receipt-form.ts";
export type { ReceiptCheck } from "./refused.ts";
export { receiptStory } from "./story.ts";
export { type ReceiptVerdict, type VerifyReceiptOptions, verifyReceipt } from "./verify-receipt.ts";
