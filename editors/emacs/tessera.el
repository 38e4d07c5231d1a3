;;; tessera.el --- MLIR tile programs with Tessera tools  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1"))
;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

;;; Commentary:

;; A major mode for MLIR files, and `tessera-lsp' for Eglot (part of Emacs 29, otherwise a package) and for lsp-mode:
;;
;;   (add-to-list 'load-path "…/editors/emacs")
;;   (require 'tessera)
;;   (add-hook 'tessera-mode-hook #'eglot-ensure)     ; or #'lsp-deferred
;;
;; Commands: `tessera-run-line' (C-c C-r) runs a RUN line; `tessera-show-stage' (C-c C-s) shows a stage of the program.

;;; Code:

(declare-function eglot--TextDocumentIdentifier "eglot")
(declare-function eglot--signal-textDocument/didChange "eglot")
(declare-function eglot-current-server "eglot")
(declare-function jsonrpc-async-request "jsonrpc")
(declare-function lsp--buffer-uri "lsp-mode")
(declare-function lsp-register-client "lsp-mode")
(declare-function lsp-request-async "lsp-mode")
(declare-function lsp-stdio-connection "lsp-mode")
(declare-function lsp-workspaces "lsp-mode")
(declare-function make-lsp-client "lsp-mode")
(defvar eglot-server-programs)
(defvar lsp-language-id-configuration)

(defgroup tessera nil
  "MLIR tile programs."
  :group 'languages)

(defcustom tessera-server-command '("tessera-lsp")
  "The language server with its options.
It comes with: pip install \\='tessera-tools[lsp]\\='"
  :type '(repeat string))

(defcustom tessera-gpu "sm_90a"
  "The GPU of layouts and later stages."
  :type 'string)

(defcustom tessera-type-hints t
  "Whether inlay hints have the types of values."
  :type 'boolean)

(defcustom tessera-fact-hints t
  "Whether inlay hints have the divisors and bounds of integers."
  :type 'boolean)

(defconst tessera-stages '("next" "nv_tileaa" "nv_tileas" "llvm" "llvmir" "ptx")
  "The stages that the server shows.")

;;; The mode

(defvar tessera-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (dolist (char '(?% ?@ ?^ ?! ?# ?_ ?$ ?.))
      (modify-syntax-entry char "_" table))
    (dolist (char '(?- ?= ?: ?, ?+ ?* ??))
      (modify-syntax-entry char "." table))
    table)
  "Names are symbols with their sigils; `//' begins a comment.")

(defconst tessera-font-lock-keywords
  `((,(rx bol (* blank) (? (+ "%" (+ (any alnum "_$.:-")) (? ",") (* blank)) "=" (* blank))
          (group (any "a-z_") (* (any alnum "_$."))) symbol-end)
     (1 font-lock-keyword-face))
    (,(rx "//" (* blank) (group "RUN:")) (1 font-lock-warning-face prepend))
    (,(rx "%" (+ (any alnum "_$.-"))) . font-lock-variable-name-face)
    (,(rx "@" (+ (any alnum "_$.-"))) . font-lock-function-name-face)
    (,(rx "^" (+ (any alnum "_$.-"))) . font-lock-constant-face)
    (,(rx (any "!#") (any alpha "_") (* (any alnum "_$."))) . font-lock-type-face)
    (,(rx (or symbol-start (any "x<"))
          (group (or (seq (? (any "su")) "i" (+ digit)) (seq (or "f" "bf" "tf") (+ digit)) "index" "none"
                     (seq "f8E" (+ (any alnum))) "tensor" "vector" "memref" "tile" "ptr" "token"))
          symbol-end)
     (1 font-lock-type-face)))
  "Colors that need no server.")

(defvar tessera-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-r") #'tessera-run-line)
    (define-key map (kbd "C-c C-s") #'tessera-show-stage)
    map)
  "Keys of `tessera-mode'.")

;;;###autoload
(define-derived-mode tessera-mode prog-mode "MLIR"
  "A mode for MLIR files.  \\{tessera-mode-map}"
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local comment-start-skip "//+[ \t]*")
  (setq-local font-lock-defaults '(tessera-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.mlir\\'" . tessera-mode))

;;; The server

(defun tessera-settings (&rest _)
  "The settings that the server gets."
  (list :gpu tessera-gpu
        :inlayHints (list :types (or tessera-type-hints :json-false)
                          :facts (or tessera-fact-hints :json-false))))

(defun tessera--contact (&rest _)
  "How Eglot starts the server."
  (append tessera-server-command (list :initializationOptions (tessera-settings))))

(put 'tessera-mode 'eglot-language-id "mlir")

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(tessera-mode . tessera--contact)))

(with-eval-after-load 'lsp-mode
  (add-to-list 'lsp-language-id-configuration '(tessera-mode . "mlir"))
  (let ((handlers (make-hash-table :test #'equal)))
    (dolist (command '("tessera.runLine" "tessera.showStage"))
      (puthash command #'tessera--lens handlers))
    (lsp-register-client
     (make-lsp-client
      :new-connection (lsp-stdio-connection (lambda () tessera-server-command))
      :major-modes '(tessera-mode)
      :server-id 'tessera
      :initialization-options #'tessera-settings
      :action-handlers handlers))))

;;; Commands

(defun tessera--get (object key)
  "The value of KEY, a string, in OBJECT: a plist of Eglot, a table of lsp-mode."
  (if (hash-table-p object)
      (gethash key object)
    (plist-get object (intern (concat ":" key)))))

(defun tessera--show (result)
  "Show RESULT of a command of the server: it has a title, text and language."
  (when result
    (let* ((title (tessera--get result "title"))
           (name (replace-regexp-in-string " ([^()]*)\\'" "" title))
           (language (tessera--get result "language"))
           (status (tessera--get result "status"))
           (buffer (get-buffer-create (format "*tessera %s*" name))))
      (with-current-buffer buffer
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert (tessera--get result "text"))
          (goto-char (point-min)))
        ;; Without hooks: a result is no file, and has no server.
        (delay-mode-hooks
          (cond ((equal language "mlir") (tessera-mode))
                ((and (equal language "llvm") (fboundp 'llvm-mode)) (funcall 'llvm-mode))
                (t (fundamental-mode))))
        (setq buffer-read-only t))
      (display-buffer buffer)
      (message "%s" title)
      (when (and status (/= status 0))
        (message "%s: see %s" title (buffer-name buffer)))
      buffer)))

(defun tessera--failed (failure &rest _)
  "Report FAILURE, an error of the protocol."
  (message "tessera-lsp: %s" (tessera--get failure "message")))

(defun tessera--execute (command argument)
  "Send COMMAND with ARGUMENT, a plist without `:uri', and show the result."
  (cond
   ((and (bound-and-true-p lsp-mode) (lsp-workspaces))
    (lsp-request-async "workspace/executeCommand"
                       (list :command command
                             :arguments (vector (append (list :uri (lsp--buffer-uri)) argument)))
                       #'tessera--show :error-handler #'tessera--failed))
   ((and (fboundp 'eglot-current-server) (eglot-current-server))
    (eglot--signal-textDocument/didChange) ; otherwise changes are sent after a time
    (let ((uri (plist-get (eglot--TextDocumentIdentifier) :uri)))
      (jsonrpc-async-request (eglot-current-server) :workspace/executeCommand
                             (list :command command :arguments (vector (append (list :uri uri) argument)))
                             :success-fn #'tessera--show :error-fn #'tessera--failed :timeout 300)))
   (t (user-error "No server serves this buffer: start it with M-x eglot or M-x lsp"))))

(defun tessera--lens (action)
  "Run the command of a code lens of lsp-mode, ACTION."
  (lsp-request-async "workspace/executeCommand"
                     (list :command (tessera--get action "command") :arguments (tessera--get action "arguments"))
                     #'tessera--show :error-handler #'tessera--failed))

(defun tessera-run-line ()
  "Run the RUN line at point, or the first one after it, or the first one."
  (interactive)
  (let ((line (save-excursion
                (beginning-of-line)
                (let ((run "^[ \t]*//[ \t]*RUN:"))
                  (unless (re-search-forward run nil t)
                    (goto-char (point-min))
                    (unless (re-search-forward run nil t)
                      (user-error "The buffer has no RUN line"))))
                (line-number-at-pos nil t))))
    (tessera--execute "tessera.runLine" (list :line (1- line)))))

(defun tessera-show-stage (stage)
  "Show STAGE of the program at point."
  (interactive (list (completing-read "Stage: " tessera-stages nil t nil nil "next")))
  (tessera--execute "tessera.showStage" (list :line (1- (line-number-at-pos nil t)) :stage stage)))

(provide 'tessera)
;;; tessera.el ends here
