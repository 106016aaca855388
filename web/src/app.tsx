/** Creates the page's objects and passes them on; the pages are in `pages/`. */
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { MutationCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createBrowserRouter, RouterProvider } from "react-router";
import { Cluster, ClusterContext } from "./api/cluster.ts";
import { ApiError } from "./api/http.ts";
import { SqlSession, SqlSessionContext, StreamSessionContext } from "./api/sql-session.ts";
import { NotFound, PageCrashed } from "./components/page-errors.tsx";
import { PageLoading } from "./components/page-loading.tsx";
import { Shell } from "./components/shell.tsx";
import { pages } from "./pages/index.ts";
import { colorSchemeManager, cssVariables, theme } from "./theme/theme.ts";

const toastsMax = 4;

const cluster = new Cluster();
cluster.start();

const sqlSession = new SqlSession(() => cluster.promptForToken("refused"));
const streamSession = new SqlSession(() => cluster.promptForToken("refused"));

const queryClient = new QueryClient({
  mutationCache: new MutationCache({
    onError: (error) => {
      if (error instanceof ApiError && error.status === 401) cluster.promptForToken("refused");
    },
  }),
});

const router = createBrowserRouter([
  {
    Component: Shell,
    HydrateFallback: PageLoading,
    children: [
      ...pages.map(({ path, load }) => ({ path, lazy: load, ErrorBoundary: PageCrashed })),
      { path: "*", Component: NotFound },
    ],
  },
]);

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
    >
      <Notifications limit={toastsMax} position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <ClusterContext value={cluster}>
          <SqlSessionContext value={sqlSession}>
            <StreamSessionContext value={streamSession}>
              <RouterProvider router={router} />
            </StreamSessionContext>
          </SqlSessionContext>
        </ClusterContext>
      </QueryClientProvider>
    </MantineProvider>
  );
}
