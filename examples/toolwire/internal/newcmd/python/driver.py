# Runs the entry point of code_agent.py as a program: the platform calls run itself, and does not need this file.
import json, os, code_agent
task = json.loads(os.environ["_PIPELINES_TASK_INPUT_JSON"])
answer = code_agent.run(task, proxy_url=os.environ["PIPELINES_ODYSSEY_PROXY_URL"], run_token=os.environ["PIPELINES_RUN_TOKEN"])
with open(os.environ["PIPELINES_RESULT_PATH"], "w") as result:
    json.dump(answer, result)
