/** Continuous queries and what they are made of. Each part's code is loaded on the first visit. */
import { Title } from "@mantine/core";
import { lazy, Suspense } from "react";
import { Outlet, Route, Routes, useLocation, useParams } from "react-router";
import { useStaleClass } from "../../components/connection.tsx";
import { NotFound } from "../../components/page-errors.tsx";
import { PageLoading } from "../../components/page-loading.tsx";
import "./streams.css";

const QueriesPage = lazy(async () => ({
  default: (await import("./queries/queries-page.tsx")).QueriesPage,
}));
const QueryPage = lazy(async () => ({
  default: (await import("./query/query-page.tsx")).QueryPage,
}));

export function Component() {
  return (
    <Routes>
      <Route element={<Frame />}>
        <Route index element={<QueriesPage />} />
        <Route path="queries/:queryKey" element={<KeyedQuery />} />
      </Route>
      <Route path="*" element={<NotFound />} />
    </Routes>
  );
}

function Frame() {
  const { pathname } = useLocation();
  const stale = useStaleClass();
  return (
    <div className={`page ${stale}`}>
      {!pathname.startsWith("/streams/queries/") && (
        <div className="page-head">
          <Title order={1}>Streams</Title>
        </div>
      )}
      <Suspense fallback={<PageLoading />}>
        <Outlet />
      </Suspense>
    </div>
  );
}

/** Another query resets the part's state. */
function KeyedQuery() {
  const { queryKey = "" } = useParams();
  return <QueryPage key={queryKey} queryKey={queryKey} />;
}
