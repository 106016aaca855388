/** Actions on a run that has ended. */
import { Button, Menu, Modal } from "@mantine/core";
import { IconChevronDown, IconFileText, IconRepeat, IconScale } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type MouseEvent, useState } from "react";
import { Link, useNavigate } from "react-router";
import type { TestDetail } from "../../../api/gen/types.ts";
import { readJson, request, storedToken } from "../../../api/http.ts";
import { isTerminal, rerun, type TestPage, testPath } from "../../../api/load.ts";
import { toastFailed } from "../../../components/toasts.tsx";
import { formatLatency, formatMoment, formatRate } from "../../../format.ts";
import { comparePath, isComparable } from "../history/history-view.ts";
import { runHref } from "../links.ts";
import { RunStatusSign } from "./run-sign.tsx";

const reports = [
  { suffix: "html", title: "HTML, one file to keep or send" },
  { suffix: "json", title: "JSON, every figure" },
  { suffix: "xml", title: "JUnit XML, for CI" },
  { suffix: "hgrm", title: "HdrHistogram, the distribution" },
] as const;

export function RunActions({ run }: { readonly run: TestDetail }) {
  const navigate = useNavigate();
  const [isComparing, setComparing] = useState(false);
  const rerunning = useMutation({
    mutationFn: () => rerun(run.test_id),
    onSuccess: (id) => navigate(runHref(id)),
    onError: (error) => toastFailed("Could not run it again", error),
  });
  return (
    <div className="run-actions">
      <Button
        leftSection={<IconRepeat size={14} />}
        loading={rerunning.isPending}
        disabled={!isTerminal(run.status)}
        onClick={() => rerunning.mutate()}
      >
        Rerun
      </Button>
      <Reports runId={run.test_id} />
      <Button
        variant="default"
        leftSection={<IconScale size={14} />}
        disabled={!isComparable(run)}
        onClick={() => setComparing(true)}
      >
        Compare with…
      </Button>
      <Modal
        opened={isComparing}
        onClose={() => setComparing(false)}
        title="Compare with"
        size="lg"
      >
        <Others run={run} />
      </Modal>
    </div>
  );
}

function Reports({ runId }: { readonly runId: string }) {
  /** A link sends no token: when one is needed, the page fetches the file and saves it. */
  const fetchWithToken = (event: MouseEvent, path: string, name: string): void => {
    if (storedToken() === undefined) return;
    event.preventDefault();
    download(path, name).catch((error: unknown) => toastFailed("Could not get the report", error));
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconFileText size={14} />}
          rightSection={<IconChevronDown size={14} />}
        >
          Report
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {reports.map(({ suffix, title }) => {
          const path = testPath(runId, `/report.${suffix}`);
          return (
            <Menu.Item
              key={suffix}
              component="a"
              href={path}
              target="_blank"
              rel="noreferrer"
              onClick={(event: MouseEvent) =>
                fetchWithToken(event, path, `load-test-${runId}.${suffix}`)
              }
            >
              {title}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}

async function download(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await request(path)).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Other runs of the same template; the history lists all runs. */
function Others({ run }: { readonly run: TestDetail }) {
  const query = new URLSearchParams({
    limit: "50",
    status: "COMPLETED,FAILED,CANCELLED",
    ...(run.template_id !== null && { template_id: run.template_id }),
  });
  const { data, error } = useQuery({
    queryKey: ["load-others", run.template_id],
    queryFn: ({ signal }) => readJson<TestPage>(`/api/tests?${query}`, { signal }),
    retry: false,
  });
  const others = data?.items.filter((each) => each.test_id !== run.test_id && isComparable(each));
  if (others === undefined || others.length === 0) {
    return (
      <p className="dim run-others-none">
        {others === undefined
          ? (error?.message ?? "…")
          : "There is no other run of this template that measured something. Rerun this one, or choose any two runs in the list of runs."}
      </p>
    );
  }
  return (
    <ul className="run-others">
      {others.map((other) => (
        <li key={other.test_id}>
          <Link to={comparePath([other, run])}>
            <span className="run-strong">{other.test_name}</span>
            <RunStatusSign status={other.status} />
            <span className="dim">{formatMoment(other.created_at_ms)}</span>
            <span className="num">
              {formatRate(other.qps)} ops/s, p95 {formatLatency(other.p95_latency_ms)}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
