/** The console. Uses only the public API of its service. */
import { ApiError } from "@countersign/sdk";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { SessionProvider } from "./api/session.tsx";
import { applyTheme, chosenTheme } from "./browser/theme.ts";
import "./design/tokens.css";
import "./design/base.css";
import "./design/parts.css";
import "./design/shell.css";
import "./design/pages.css";
import { ShownSecretProvider } from "./parts/forms/shown-secret.tsx";
import { ToastProvider } from "./parts/toasts.tsx";
import { router } from "./router.tsx";

applyTheme(chosenTheme());

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Retrying a refusal does not help. The banner handles a lost connection.
      retry: (count, error) => count < 2 && error instanceof ApiError && error.status >= 500,
      // The browser's online state is wrong for a service on this machine.
      networkMode: "always",
    },
    mutations: { networkMode: "always", retry: false },
  },
});

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ToastProvider>
        <ShownSecretProvider>
          <SessionProvider>
            <RouterProvider router={router} />
          </SessionProvider>
        </ShownSecretProvider>
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
);
