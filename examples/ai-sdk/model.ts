/** A model of the AI Gateway, which needs AI_GATEWAY_API_KEY. Any other model of the AI SDK works, too. */
import type { LanguageModel } from "ai";

export const model: LanguageModel = "openai/gpt-5";
