package supervise

// maxTasks bounds the tasks of one supervisor.
const maxTasks = 256
