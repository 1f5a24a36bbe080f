/** A model of OpenAI, which needs OPENAI_API_KEY. */
import type { CreateAgentParams } from "langchain";

export const model: CreateAgentParams["model"] = "openai:gpt-5";
