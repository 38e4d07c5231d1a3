;;; emacs.el --- A session in Emacs; prints what its user sees as JSON  -*- lexical-binding: t; -*-

;; Run by test_emacs.py: emacs --batch -l emacs.el PLUGIN FOLDER CLIENT

;;; Code:

(require 'cl-lib)
(require 'json)
(pcase-let ((`(,plugin ,folder ,client) command-line-args-left))
  (setq command-line-args-left nil)
  (add-to-list 'load-path plugin)
  (defvar session-folder (file-name-as-directory folder))
  (defvar session-client client))
(require 'package)
(package-initialize)
(require 'tessera)
(require 'flymake)
(require 'xref)
(setq tessera-server-command (append (json-parse-string (getenv "TESSERA_LSP") :array-type 'list) nil)
      tessera-gpu "sm_100a"
      backup-inhibited t
      create-lockfiles nil)

(defvar seen nil)
(defun saw (name value) (push (cons name value) seen))

(defmacro wait-for (what &rest body)
  "The value of BODY as soon as it is not nil."
  (declare (indent 1))
  `(let ((end (+ (float-time) 30)) found)
     (while (not (setq found (progn ,@body)))
       (when (> (float-time) end)
         (error "Waited in vain for %s" ,what))
       (accept-process-output nil 0.05))
     found))

(defun text-of (buffer) (with-current-buffer buffer (buffer-substring-no-properties (point-min) (point-max))))

(defun go-to (text)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun connect ()
  "Start the client in this buffer."
  (if (equal session-client "eglot")
      (progn
        (require 'eglot)
        (setq eglot-confirm-server-initiated-edits nil)
        (apply #'eglot--connect (eglot--guess-contact))
        (flymake-mode 1)
        (flymake-start))
    (require 'lsp-mode)
    (setq lsp-session-file (concat session-folder "lsp-session")
          lsp-enable-suggest-server-download nil
          lsp-diagnostics-provider :none
          lsp-warn-no-matched-clients nil
          lsp-auto-guess-root t
          lsp-restart 'ignore
          lsp-enable-file-watchers nil)
    (lsp-workspace-folders-add session-folder)
    (lsp)
    (wait-for "lsp-mode"
      (cl-some (lambda (one) (eq 'initialized (lsp--workspace-status one))) (lsp-workspaces)))))

(defun errors ()
  "The diagnostics of this buffer, as [line message], lines from 1."
  (if (equal session-client "eglot")
      (mapcar (lambda (one)
                (vector (line-number-at-pos (flymake-diagnostic-beg one)) (flymake-diagnostic-text one)))
              (flymake-diagnostics))
    (let ((lsp-diagnostics-provider :auto) found)
      (maphash (lambda (_ several)
                 (dolist (one several)
                   (push (vector (1+ (lsp-get (lsp-get (lsp-get one :range) :start) :line)) (lsp-get one :message))
                         found)))
               (lsp-diagnostics t))
      found)))

(find-file (concat session-folder "program.mlir"))
(saw "mode" (symbol-name major-mode))
(connect)
(saw "errors" (vconcat (wait-for "an error" (errors))))

(go-to "%nobody")
(delete-region (point) (+ (point) (length "%nobody")))
(insert "%a")
(when (equal session-client "eglot")
  (eglot--signal-textDocument/didChange))
(wait-for "no error" (null (errors)))

(go-to "arith.addi")
(saw "hover"
     (if (equal session-client "eglot")
         (let (shown)
           (eglot-hover-eldoc-function (lambda (text &rest _) (setq shown text)))
           (substring-no-properties (wait-for "hover" shown)))
       (lsp-get (lsp-get (lsp-request "textDocument/hover" (lsp--text-document-position-params)) :contents) :value)))

(go-to "%b : i32")
(if (equal session-client "eglot") (call-interactively #'xref-find-definitions) (lsp-find-definition))
(saw "definition" (vector (line-number-at-pos) (current-column)))

(if (equal session-client "eglot") (eglot-rename "twice") (lsp-rename "twice"))
(wait-for "rename" (string-match-p "return %twice" (text-of (current-buffer))))
(saw "renamed" (text-of (current-buffer)))

(tessera-run-line)
(saw "run" (text-of (wait-for "the RUN line" (get-buffer "*tessera RUN: tessera-opt %s --cse*"))))

(find-file (concat session-folder "kernel.mlir"))
(if (equal session-client "eglot") (eglot--maybe-activate-editing-mode) (lsp))
(go-to "entry @")
(tessera-show-stage "ptx")
(let ((buffer (wait-for "the PTX"
                (cl-find-if (lambda (one) (string-prefix-p "*tessera ptx" (buffer-name one))) (buffer-list)))))
  (saw "ptx" (text-of buffer)))

(go-to "entry @")
(font-lock-ensure)
(saw "face" (symbol-name (get-text-property (point) 'face)))

(set-buffer-modified-p nil)
(princ (concat "SEEN " (json-encode seen) "\n"))
(kill-emacs 0)
;;; emacs.el ends here
